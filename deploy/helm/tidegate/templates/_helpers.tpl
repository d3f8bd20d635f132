{{- define "tidegate.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "tidegate.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "tidegate.labels" -}}
{{ include "tidegate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "tidegate.isCluster" -}}
{{- if or (gt (int .Values.replicas) 1) .Values.etcd.endpoints }}true{{ end }}
{{- end }}

{{- define "tidegate.runsEtcd" -}}
{{- if and (include "tidegate.isCluster" .) (not .Values.etcd.endpoints) .Values.etcd.bundled }}true{{ end }}
{{- end }}

{{- define "tidegate.etcdEndpoints" -}}
{{- if .Values.etcd.endpoints }}
{{- join "," .Values.etcd.endpoints }}
{{- else }}
{{- $name := include "tidegate.name" . }}
{{- $namespace := .Release.Namespace }}
{{- $found := list }}
{{- range $index := until (int .Values.etcd.replicas) }}
{{- $found = append $found (printf "http://%s-etcd-%d.%s-etcd.%s.svc:2379" $name $index $name $namespace) }}
{{- end }}
{{- join "," $found }}
{{- end }}
{{- end }}

{{- define "tidegate.protocol" -}}
{{- if .Values.allowAnonymous }}{{ ternary "SSL" "PLAINTEXT" (ne .Values.tls.secret "") }}{{ else if eq .Values.tls.clientAuth "required" }}SSL{{ else }}SASL_SSL{{ end }}
{{- end }}

{{- /* How the operations door is asked: over TLS if config says so. */ -}}
{{- define "tidegate.httpScheme" -}}
{{- if eq (get .Values.config "http.security.protocol" | toString) "SSL" }}https{{ else }}http{{ end }}
{{- end }}

{{- define "tidegate.tokenSecret" -}}
{{- default (printf "%s-http" (include "tidegate.name" .)) .Values.http.tokenSecret }}
{{- end }}

{{- /* What cannot work is refused here, with what to do about it. */ -}}
{{- define "tidegate.check" -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.etcd.endpoints) (not .Values.etcd.bundled) }}
{{- fail "several replicas need an etcd: name one by etcd.endpoints, or set etcd.bundled=true" }}
{{- end }}
{{- if not .Values.allowAnonymous }}
{{- if not .Values.tls.secret }}
{{- fail "name a secret with a certificate by tls.secret, or say with allowAnonymous=true that everybody in the network may come in" }}
{{- end }}
{{- if and (ne .Values.tls.clientAuth "required") (has "PLAIN" .Values.auth.mechanisms) (not .Values.auth.usersSecret) }}
{{- fail "PLAIN needs auth.usersSecret, whose entry `users` is a file of `tidegate user add NAME --users-file FILE`; or ask for certificates with tls.clientAuth=required" }}
{{- end }}
{{- end }}
{{- end }}
