// Sends a record and reads it back with franz-go, over TLS and SASL as the environment says.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	topic := os.Getenv("TOPIC")
	options := []kgo.Opt{
		kgo.SeedBrokers(os.Getenv("ADDRESS")),
		kgo.DefaultProduceTopic(topic),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RecordRetries(0),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}),
	}
	if authority := os.Getenv("AUTHORITY"); authority != "" {
		config, err := tlsConfig(authority)
		if err != nil {
			return err
		}
		options = append(options, kgo.DialTLSConfig(config))
	}
	name, password := os.Getenv("NAME"), os.Getenv("PASSWORD")
	switch os.Getenv("MECHANISM") {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: name, Pass: password}.AsMechanism()))
	case "SCRAM-SHA-256":
		options = append(options, kgo.SASL(scram.Auth{User: name, Pass: password}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		options = append(options, kgo.SASL(scram.Auth{User: name, Pass: password}.AsSha512Mechanism()))
	case "OAUTHBEARER":
		options = append(options, kgo.SASL(oauth.Auth{Token: os.Getenv("TOKEN")}.AsMechanism()))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil {
		return err
	}
	record := &kgo.Record{Value: []byte(os.Getenv("VALUE"))}
	if err := client.ProduceSync(ctx, record).FirstErr(); err != nil {
		return err
	}
	fetches := client.PollRecords(ctx, 1)
	if err := fetches.Err(); err != nil {
		return err
	}
	fmt.Print(string(fetches.Records()[0].Value))
	return nil
}

func tlsConfig(authority string) (*tls.Config, error) {
	pem, err := os.ReadFile(authority)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if chain := os.Getenv("CERTIFICATE"); chain != "" {
		certificate, err := tls.LoadX509KeyPair(chain, os.Getenv("KEY"))
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	return config, nil
}
