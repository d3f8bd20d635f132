// What is otherwise between two texts, by lines.

export interface DiffLine {
  kind: "same" | "gone" | "new";
  text: string;
}

const MOST_LINES = 2000;

/** The lines of both, with as many as possible taken for the same. */
export function diff(before: string, after: string): DiffLine[] {
  const old = before.split("\n").slice(0, MOST_LINES);
  const young = after.split("\n").slice(0, MOST_LINES);
  const width = young.length + 1;
  // How many lines can be the same from a place in either text on.
  const same = new Uint16Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = young.length - 1; j >= 0; j--) {
      same[i * width + j] = old[i] === young[j] ? same[(i + 1) * width + j + 1]! + 1 : Math.max(same[(i + 1) * width + j]!, same[i * width + j + 1]!);
    }
  }
  const found: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < young.length) {
    if (i < old.length && j < young.length && old[i] === young[j]) {
      found.push({ kind: "same", text: old[i]! });
      i += 1;
      j += 1;
    } else if (j === young.length || (i < old.length && same[(i + 1) * width + j]! >= same[i * width + j + 1]!)) {
      found.push({ kind: "gone", text: old[i++]! });
    } else {
      found.push({ kind: "new", text: young[j++]! });
    }
  }
  return found;
}
