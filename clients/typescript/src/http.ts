/** Calls of the HTTP door: who calls, and what goes wrong. */

export interface Options {
  /** The door's token, or one of the issuer that the broker trusts. */
  token?: string;
  /** A user's name and password. */
  user?: { name: string; password: string };
  /** Another fetch than the platform's. */
  fetch?: typeof fetch;
}

/** What the broker refuses, with its own words. */
export class TidegateError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.name = "TidegateError";
  }
}

export class Door {
  private readonly base: string;

  constructor(
    url: string,
    private readonly options: Options = {},
  ) {
    this.base = url.replace(/\/+$/, "");
  }

  /** A call of a path, each part of which may have any letters; undefined where there is no answer. */
  async call<Answer>(method: string, path: string[], body?: unknown, query: Record<string, unknown> = {}): Promise<Answer> {
    const response = await this.send(path, query, {
      method,
      headers: this.headers(body !== undefined),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return (text ? JSON.parse(text) : undefined) as Answer;
  }

  /** An answer that goes on: its body is read as it comes. */
  async open(path: string[], query: Record<string, unknown>, headers: Record<string, string>, signal?: AbortSignal): Promise<Response> {
    return this.send(path, query, { headers: { ...this.headers(false), ...headers }, ...(signal === undefined ? {} : { signal }) });
  }

  private async send(path: string[], query: Record<string, unknown>, sent: RequestInit): Promise<Response> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const words = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
    const target = path.map((part) => `/${encodeURIComponent(part)}`).join("");
    const send = this.options.fetch ?? globalThis.fetch;
    const response = await send(`${this.base}${target}${words ? `?${words}` : ""}`, sent);
    if (!response.ok) {
      throw new TidegateError(response.status, sentence(await response.text()) ?? `the door answers ${response.status}`);
    }
    return response;
  }

  private headers(hasBody: boolean): Record<string, string> {
    const headers: Record<string, string> = { "X-Tidegate": "1" };
    if (hasBody) headers["Content-Type"] = "application/json";
    const { token, user } = this.options;
    if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
    else if (user !== undefined) headers["Authorization"] = `Basic ${btoa(`${user.name}:${user.password}`)}`;
    return headers;
  }
}

function sentence(text: string): string | undefined {
  try {
    const said = JSON.parse(text) as { detail?: string; message?: string; title?: string };
    return said.detail ?? said.message ?? said.title;
  } catch {
    return undefined;
  }
}
