// Parts that every view is made of.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { isReadOnly, Page } from "./api";
import { number } from "./format";

export interface Column<T> {
  name: string;
  cell: (row: T) => ComponentChildren;
  right?: boolean;
}

interface Rows<T> {
  rows: T[] | undefined;
  columns: Column<T>[];
  empty: ComponentChildren;
  /** What stands below a row, over its whole width. */
  below?: (row: T) => ComponentChildren;
  /** Whether rows become cards on a narrow screen though there are few columns: long texts are in them. */
  cards?: boolean;
}

/** On a narrow screen each row becomes a card (style.css): the roles say that it is a table all the same. */
export function Table<T>({ rows, columns, empty, below, cards }: Rows<T>): JSX.Element {
  if (rows === undefined) return <p class="quiet">…</p>;
  if (rows.length === 0) return <p class="quiet">{empty}</p>;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={columns.map((each) => each.name).join(", ")}>
      <table role="table" class={cards || columns.length > 3 ? "cards" : ""}>
        <thead role="rowgroup">
          <tr role="row">{columns.map((each) => <th role="columnheader" scope="col" class={each.right ? "right" : ""}>{each.name}</th>)}</tr>
        </thead>
        <tbody role="rowgroup">
          {rows.map((row) => {
            const more = below?.(row);
            return (
              <>
                <tr role="row">{columns.map((each) => <td role="cell" data-name={each.name} class={each.right ? "right" : ""}>{each.cell(row)}</td>)}</tr>
                {more && <tr role="row" class="below"><td role="cell" colSpan={columns.length}>{more}</td></tr>}
              </>
            );
          })}
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

/** Whose part is not in what is shown. */
export function Missing({ nodes, what }: { nodes: number[] | undefined; what: string }): JSX.Element | null {
  return nodes?.length ? <p class="wrong">Without {what} of nodes that cannot be asked: {nodes.join(", ")}</p> : null;
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
export function Bars({ rows, label }: { rows: { name: string; count: number; href?: string }[]; label: string }): JSX.Element {
  const most = Math.max(1, ...rows.map((row) => row.count));
  return (
    <ul class="bars" aria-label={label}>
      {rows.map((row) => (
        <li>
          <span>{row.href ? <a href={row.href}>{row.name}</a> : row.name}</span>
          <meter min={0} max={most} value={row.count} aria-label={row.name} />
          <span class="right">{number(row.count)}</span>
        </li>
      ))}
    </ul>
  );
}

/** Does something when asked to, and keeps what came of it: so that a form says it. */
export function useAct(): { error: string | undefined; told: string | undefined; busy: boolean; act: (work: () => Promise<string | void>) => Promise<void>; forget: () => void } {
  const [state, setState] = useState<{ error?: string; told?: string; busy?: boolean }>({});
  const act = async (work: () => Promise<string | void>) => {
    setState({ busy: true });
    try {
      const told = await work();
      setState(told ? { told } : {});
    } catch (wrong) {
      setState({ error: (wrong as Error).message });
    }
  };
  return { error: state.error, told: state.told, busy: state.busy ?? false, act, forget: () => setState({}) };
}

/** What came of an act. */
export function Told({ error, told }: { error: string | undefined; told: string | undefined }): JSX.Element {
  return (
    <>
      <Wrong error={error} />
      <p role="status" class={told ? "done" : "quiet"}>{told}</p>
    </>
  );
}

/** A button that does something which cannot be undone: it asks once more. */
export function Sure({ label, ask, act, bad }: { label: string; ask: string; act: () => Promise<unknown>; bad?: boolean }): JSX.Element | null {
  const [error, setError] = useState<string>();
  if (isReadOnly()) return null;
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
      <button type="button" class={bad ? "danger" : ""} onClick={click}>{label}</button>
      <Wrong error={error} />
    </>
  );
}

/** Only where things may be changed. */
export function Changing({ children }: { children: ComponentChildren }): JSX.Element | null {
  return isReadOnly() ? null : <>{children}</>;
}

/** A form that is opened when it is needed. */
export function Fold({ name, children }: { name: string; children: ComponentChildren }): JSX.Element {
  return (
    <details class="fold">
      <summary>{name}</summary>
      {children}
    </details>
  );
}

/** What a form was filled with, by the names of its fields; what is empty is left out. */
export function filled(event: Event): Record<string, string> {
  event.preventDefault();
  const found: Record<string, string> = {};
  for (const [name, value] of new FormData(event.currentTarget as HTMLFormElement)) {
    if (typeof value === "string" && value !== "") found[name] = value;
  }
  return found;
}
