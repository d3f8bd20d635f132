// Figures as people read them.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(count: number): string {
  let unit = 0;
  while (count >= 1024 && unit < UNITS.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${unit ? count.toFixed(1) : count} ${UNITS[unit]}`;
}

export function number(count: number | null | undefined): string {
  return count === null || count === undefined ? "–" : count.toLocaleString("en");
}

/** A figure per second. */
export function rate(perSecond: number | undefined): string {
  return perSecond === undefined ? "–" : `${perSecond.toLocaleString("en", { maximumFractionDigits: perSecond < 10 ? 1 : 0 })}/s`;
}

export function span(ms: number): string {
  const size = Math.abs(ms);
  if (size < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (size < 60_000) return `${seconds} s`;
  if (size < 3_600_000) return `${Math.floor(seconds / 60)} min ${Math.abs(seconds % 60)} s`;
  if (size < 86_400_000) return `${Math.floor(seconds / 3600)} h ${Math.abs(Math.floor((seconds % 3600) / 60))} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.abs(Math.floor((seconds % 86_400) / 3600))} h`;
}

export function time(ms: number | null | undefined): string {
  return ms === null || ms === undefined || ms < 0 ? "–" : new Date(ms).toISOString().replace("T", " ");
}

const PIECES = /"(?:[^"\\]|\\.)*"|[^\s"[\]{},:]+|[[\]{},:]/g;

/** A JSON document over several lines. Every number keeps its digits: they are not read, for JavaScript would round them. */
export function spread(document: string): string {
  let told = "";
  let depth = 0;
  let before = "";
  const line = () => "\n" + " ".repeat(depth);
  for (const piece of document.match(PIECES) ?? []) {
    const isOpened = before === "{" || before === "[";
    if (piece === "}" || piece === "]") {
      depth -= 1;
      told += isOpened ? piece : line() + piece;
    } else {
      told += (isOpened || before === "," ? line() : "") + piece + (piece === ":" ? " " : "");
    }
    if (piece === "{" || piece === "[") depth += 1;
    before = piece;
  }
  return told;
}
