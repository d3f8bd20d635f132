// Parts that every view is made of.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { Page } from "./api";
import { number } from "./format";

export interface Column<T> {
  name: string;
  cell: (row: T) => ComponentChildren;
  right?: boolean;
}

export function Table<T>({ rows, columns, empty }: { rows: T[] | undefined; columns: Column<T>[]; empty: string }): JSX.Element {
  if (rows === undefined) return <p class="quiet">…</p>;
  if (rows.length === 0) return <p class="quiet">{empty}</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={columns.map((each) => each.name).join(", ")}>
      <table>
        <thead>
          <tr>{columns.map((each) => <th scope="col" class={each.right ? "right" : ""}>{each.name}</th>)}</tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>{columns.map((each) => <td class={each.right ? "right" : ""}>{each.cell(row)}</td>)}</tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** `isOpen`: it is not known how many there are. */
export function Pager({ page, onSkip, isOpen }: { page: Page<unknown> | undefined; onSkip: (skip: number) => void; isOpen?: boolean }): JSX.Element | null {
  if (page === undefined || page.total <= page.limit) return null;
  const last = Math.min(page.skip + page.limit, page.total);
  return (
    <p class="pager">
      <button disabled={page.skip === 0} onClick={() => onSkip(Math.max(0, page.skip - page.limit))}>Before</button>
      <span>{number(page.skip + 1)} to {number(last)}{isOpen ? "" : ` of ${number(page.total)}`}</span>
      <button disabled={last >= page.total} onClick={() => onSkip(page.skip + page.limit)}>Next</button>
    </p>
  );
}

export function Wrong({ error }: { error: string | undefined }): JSX.Element | null {
  return error === undefined ? null : <p class="wrong" role="alert">{error}</p>;
}

export function Badge({ kind, children }: { kind: "good" | "bad" | "so"; children: ComponentChildren }): JSX.Element {
  return <span class={`badge ${kind}`}>{children}</span>;
}

export function Figure({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Bars over a scale of their own; the numbers stand beside them. */
export function Bars({ rows, label }: { rows: { name: string; count: number }[]; label: string }): JSX.Element {
  const most = Math.max(1, ...rows.map((row) => row.count));
  return (
    <ul class="bars" aria-label={label}>
      {rows.map((row) => (
        <li>
          <span>{row.name}</span>
          <meter min={0} max={most} value={row.count} aria-label={row.name} />
          <span class="right">{number(row.count)}</span>
        </li>
      ))}
    </ul>
  );
}

/** A button that does something which cannot be undone: it asks once more. */
export function Sure({ label, ask, act }: { label: string; ask: string; act: () => Promise<unknown> }): JSX.Element {
  const [error, setError] = useState<string>();
  const click = async () => {
    if (!confirm(ask)) return;
    try {
      await act();
      setError(undefined);
    } catch (wrong) {
      setError((wrong as Error).message);
    }
  };
  return (
    <>
      <button onClick={click}>{label}</button>
      <Wrong error={error} />
    </>
  );
}
