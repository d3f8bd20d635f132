/** Keys and values as bytes, and as the door writes them: in base64. Works in Node and in browsers alike. */

/** What may be written: text is UTF-8, null is no value (a tombstone). */
export type Data = string | Uint8Array | null;

export function toBase64(data: Data): string | null {
  if (data === null) return null;
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** Bytes that come as text where they are text, else in base64. */
export function fromJson(text: string | null | undefined, base64: string | null | undefined): Uint8Array | null {
  if (typeof text === "string") return new TextEncoder().encode(text);
  if (typeof base64 !== "string") return null;
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

export function toText(data: Uint8Array | null): string | null {
  return data === null ? null : new TextDecoder().decode(data);
}
