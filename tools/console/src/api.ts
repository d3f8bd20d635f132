// Asks the operations door. Whoever has to show who it is keeps that in this tab alone, and sends it in a header: there
// is no cookie that another site could ride on.

const KEPT = "tidegate.authorization";

export class Problem extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

export interface Page<T> {
  items: T[];
  total: number;
  limit: number;
  skip: number;
}

let onUnknown: () => void = () => {};

/** Called when the door wants to know who asks. */
export function whenUnknown(listener: () => void): void {
  onUnknown = listener;
}

export function logIn(authorization: string): void {
  sessionStorage.setItem(KEPT, authorization);
}

export function logOut(): void {
  sessionStorage.removeItem(KEPT);
  onUnknown();
}

export function isLoggedIn(): boolean {
  return sessionStorage.getItem(KEPT) !== null;
}

let readOnly = false;

/** Whether the door takes changes at all: so it is not asked for what it would refuse. */
export function isReadOnly(): boolean {
  return readOnly;
}

/** What the page itself was told when it was sent: its answer has a header, which needs no rights. */
export async function learnWhatIsTaken(): Promise<void> {
  const page = await fetch("./", { method: "HEAD", credentials: "omit", redirect: "error" });
  readOnly = page.headers.get("X-Tidegate-Read-Only") === "true";
}

/** A path of parts that may hold anything. */
export function path(...parts: (string | number)[]): string {
  return "/" + parts.map((part) => encodeURIComponent(String(part))).join("/");
}

export function query(values: Record<string, string | number | boolean | undefined>): string {
  const said = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== "") said.set(name, String(value));
  }
  const text = said.toString();
  return text ? `?${text}` : "";
}

export async function request(method: string, target: string, body?: unknown, options: RequestInit = {}): Promise<Response> {
  const headers = new Headers(options.headers);
  headers.set("X-Tidegate", "1");
  const kept = sessionStorage.getItem(KEPT);
  if (kept !== null) headers.set("Authorization", kept);
  const sent: RequestInit = { ...options, method, headers, credentials: "omit", redirect: "error" };
  if (body !== undefined) {
    headers.set("Content-Type", "application/json");
    sent.body = JSON.stringify(body);
  }
  const answer = await fetch(target, sent);
  if (answer.status === 401) onUnknown();
  if (!answer.ok && !(answer.status === 503 && target === "/health")) throw new Problem(answer.status, await reason(answer));
  return answer;
}

async function reason(answer: Response): Promise<string> {
  try {
    const said = await answer.json();
    return said.detail ?? said.message ?? said.title ?? answer.statusText;
  } catch {
    return answer.statusText || `status ${answer.status}`;
  }
}

export async function get<T>(target: string, options: RequestInit = {}): Promise<T> {
  return (await (await request("GET", target, undefined, options)).json()) as T;
}

export async function send<T>(method: string, target: string, body?: unknown): Promise<T | undefined> {
  const answer = await request(method, target, body);
  return answer.status === 204 ? undefined : ((await answer.json()) as T);
}

/** Lines of a stream, one JSON document each, until the signal ends it. */
export async function follow(target: string, signal: AbortSignal, take: (document: unknown) => void): Promise<void> {
  const answer = await request("GET", target, undefined, { signal, headers: { Accept: "application/x-ndjson" } });
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop()!;
    for (const line of lines) if (line.trim()) take(JSON.parse(line));
  }
}
