// One record, with what Kafka has not: delay, priority, expiry.

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { path, send } from "../api";
import { Wrong } from "../parts";

export function Produce({ topic }: { topic: string }): JSX.Element {
  const [told, setTold] = useState<string>();
  const [error, setError] = useState<string>();
  const submit = async (event: Event) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const given = (name: string) => String(form.get(name) ?? "");
    const amount = (name: string, unit = 1) => (given(name) ? { [name]: Math.round(Number(given(name)) * unit) } : {});
    const headers = given("headers").split("\n").filter((line) => line.includes("=")).map((line) => {
      const at = line.indexOf("=");
      return { name: line.slice(0, at).trim(), value: line.slice(at + 1).trim() };
    });
    const record = {
      value: given("value"),
      headers,
      ...(given("key") ? { key: given("key") } : {}),
      ...(given("priority") ? { priority: given("priority") } : {}),
      ...(given("scheduleId") ? { scheduleId: given("scheduleId") } : {}),
      ...amount("partition"),
      ...amount("delay", 1000),
      ...amount("ttl", 1000),
    };
    try {
      const answer = await send<{ messages: { partition: number; offset?: number }[] }>("POST", path("topics", topic, "messages"), record);
      const written = answer!.messages[0]!;
      setTold(written.offset === undefined ? `Held back in partition ${written.partition}.` : `Written to partition ${written.partition} at ${written.offset}.`);
      setError(undefined);
    } catch (wrong) {
      setTold(undefined);
      setError((wrong as Error).message);
    }
  };
  return (
    <form class="produce" onSubmit={submit}>
      <label>key <input name="key" /></label>
      <label>value <textarea name="value" /></label>
      <label>headers, a line each: name=value <textarea name="headers" /></label>
      <div class="tools">
        <label>partition <input name="partition" type="number" min={0} /></label>
        <label>priority <select name="priority"><option value="">none</option>{["critical", "high", "normal", "low", "background"].map((each) => <option>{each}</option>)}</select></label>
        <label>delay in s <input name="delay" type="number" min={0} step="any" /></label>
        <label>expires after s <input name="ttl" type="number" min={0} step="any" /></label>
        <label>schedule id <input name="scheduleId" /></label>
      </div>
      <div><button>Send</button></div>
      <Wrong error={error} />
      <p role="status">{told}</p>
    </form>
  );
}
