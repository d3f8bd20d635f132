// What views share: data that is asked for again while somebody looks, and where in the console one is.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get, Problem } from "./api";

const REFRESH_MS = 5000;

export interface Asked<T> {
  data: T | undefined;
  error: string | undefined;
  /** The door's status, where it refused. */
  status: number | undefined;
  again: () => void;
}

/** What a path answers, asked for again every few seconds while the page is seen. */
export function useData<T>(target: string | undefined): Asked<T> {
  const [state, setState] = useState<{ target?: string; data?: T; error?: string; status?: number }>({});
  const latest = useRef(target);
  latest.current = target;
  const ask = useCallback(async () => {
    if (target === undefined) return;
    try {
      const data = await get<T>(target);
      if (latest.current === target) setState({ target, data });
    } catch (error) {
      if (latest.current === target) setState((before) => ({ ...before, target, error: String((error as Error).message), status: error instanceof Problem ? error.status : undefined }));
    }
  }, [target]);
  useEffect(() => {
    void ask();
    const timer = setInterval(() => document.visibilityState === "visible" && void ask(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [ask]);
  const isOurs = state.target === target;
  return { data: isOurs ? state.data : undefined, error: isOurs ? state.error : undefined, status: isOurs ? state.status : undefined, again: () => void ask() };
}

/** The parts of the place behind the #. */
export function usePlace(): string[] {
  const [place, setPlace] = useState(location.hash);
  useEffect(() => {
    const changed = () => setPlace(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return place.replace(/^#\/?/, "").split("/").filter(Boolean).map(decoded);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function placeOf(...parts: (string | number)[]): string {
  return "#/" + parts.map((part) => encodeURIComponent(String(part))).join("/");
}
