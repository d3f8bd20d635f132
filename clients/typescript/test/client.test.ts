/** The client against a broker that the test starts. */

import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Tidegate, TidegateError, toText, type LentRecord } from "../src/index.js";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const PYTHON = process.env["PYTHON"] ?? join(ROOT, ".venv/bin/python");
const PATIENCE_MS = 60_000;
let broker: ChildProcess;
let data: string;
let tidegate: Tidegate;
let url: string;

before(async () => {
  data = mkdtempSync(join(tmpdir(), "tidegate-ts-"));
  const command = ["-m", "tidegate", "serve", "--data-dir", join(data, "data"), "--kafka-port", "0", "--http-port", "-1"];
  broker = spawn(PYTHON, [...command, "--set", "group.initial.rebalance.delay.ms=0"], { cwd: ROOT, stdio: ["ignore", "pipe", "ignore"] });
  url = await ready(broker);
  tidegate = new Tidegate(url);
}, { timeout: PATIENCE_MS });

after(async () => {
  const ended = new Promise((resolve) => broker.once("exit", resolve));
  broker.kill("SIGTERM");
  await ended;
  rmSync(data, { recursive: true, force: true });
});

test("a topic may have any name", { timeout: PATIENCE_MS }, async () => {
  const [written] = await tidegate.publish("events", { value: "one" });
  assert.deepEqual(written, { partition: 0, offset: 0 });
});

function ready(process: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    process.stdout!.on("data", (piece: Buffer) => {
      output += piece.toString();
      const found = / http=(\S+)/.exec(output);
      if (found) resolve(`http://${found[1]}`);
    });
    process.once("exit", (code) => reject(new Error(`the broker ended with ${code}`)));
  });
}

test("records are published and read by a group", { timeout: PATIENCE_MS }, async () => {
  const bytes = new Uint8Array([0, 255, 10]);
  const written = await tidegate.publish("plain", { key: "k", value: "grüße", headers: { h: "1" } }, { value: bytes }, { key: "k", value: null });
  assert.deepEqual(written, [0, 1, 2].map((offset) => ({ partition: 0, offset })));
  const member = await tidegate.join("readers", ["plain"], { reset: "earliest" });
  const stop = new AbortController();
  const found = [];
  for await (const record of member.records(stop.signal)) {
    found.push(record);
    if (found.length === 3) stop.abort();
  }
  await member.commit();
  await member.leave();
  assert.deepEqual(found.map((record) => toText(record.key)), ["k", null, "k"]);
  assert.equal(toText(found[0]!.value), "grüße");
  assert.deepEqual(found[1]!.value, bytes);
  assert.equal(found[2]!.value, null);
  assert.deepEqual(found[0]!.headers.map(([name, value]) => [name, toText(value)]), [["h", "1"]]);
});

test("a delayed record has no offset yet", { timeout: PATIENCE_MS }, async () => {
  assert.deepEqual(await tidegate.publish("later", { value: "x", delayMs: 3_600_000 }), [{ partition: 0, offset: null }]);
});

test("the urgent is read first", { timeout: PATIENCE_MS }, async () => {
  await tidegate.publish("urgent", { value: "low", priority: "background" });
  await tidegate.publish("urgent", { value: "high", priority: "critical" });
  const member = await tidegate.join("urgent-readers", ["urgent"], { reset: "earliest" });
  const found: (string | null)[] = [];
  while (found.length < 2) found.push(...(await member.poll({ waitMs: 5000 })).map((record) => toText(record.value)));
  await member.leave();
  assert.deepEqual(found, ["high", "low"]);
});

test("a topic is followed, and goes on where it was when the connection breaks", { timeout: PATIENCE_MS }, async () => {
  await tidegate.publish("followed", { key: "k", value: "0" }, { value: new Uint8Array([255]) });
  const opened: AbortController[] = [];
  const breaking = new Tidegate(url, {
    fetch: (input, init) => {
      const connection = new AbortController();
      opened.push(connection);
      return fetch(input, { ...init, signal: connection.signal });
    },
  });
  const stop = new AbortController();
  const found = [];
  for await (const record of breaking.follow("followed", { from: "earliest", signal: stop.signal })) {
    found.push([record.offset, toText(record.key)]);
    if (found.length === 2) {
      opened.at(-1)!.abort();
      await tidegate.publish("followed", { value: "after the break" });
    }
    if (found.length === 3) {
      assert.equal(toText(record.value), "after the break");
      stop.abort();
    }
  }
  assert.deepEqual(found, [[0, "k"], [1, null], [2, null]]);
  assert.equal(opened.length, 2);
});

test("a topic that there is not is not followed", { timeout: PATIENCE_MS }, async () => {
  await assert.rejects(tidegate.follow("nowhere").next(), (error: unknown) => error instanceof TidegateError && error.status === 404);
});

test("a worker settles what it is lent, and gets again what it gave back", { timeout: PATIENCE_MS }, async () => {
  await tidegate.createTopic("jobs");
  const worker = await tidegate.work("workers", ["jobs"]);
  const lent = async (): Promise<LentRecord[]> => {
    for (;;) {
      const found = await worker.poll({ waitMs: 1000, maxRecords: 1 });
      if (found.length > 0) return found;
      // A new group begins with what comes once it has looked.
      if (first === undefined) await tidegate.publish("jobs", { key: "k", value: "work" });
    }
  };
  let first: LentRecord | undefined;
  [first] = await lent();
  assert.equal(toText(first!.value), "work");
  assert.equal(first!.deliveryCount, 1);
  assert.deepEqual(await worker.extend(first!), []);
  assert.deepEqual(await worker.nack([first!], 10), []);
  let again: LentRecord;
  do {
    [again] = (await lent()) as [LentRecord];
    if (again.offset !== first!.offset) await worker.reject(again);
  } while (again.offset !== first!.offset);
  assert.equal(again.deliveryCount, 2);
  await assert.rejects(worker.ack(first!), (error: unknown) => error instanceof TidegateError && error.status === 409);
  assert.deepEqual(await worker.ack(again), []);
  await worker.heartbeat();
  await worker.leave();
});

test("a transaction is read whole or not at all", { timeout: PATIENCE_MS }, async () => {
  await tidegate.createTopic("sums");
  const producer = await tidegate.producer("billing");
  await producer.begin();
  await producer.publish("sums", { value: "aborted" });
  await producer.abort();
  await producer.begin();
  await producer.publish("sums", { key: "k", value: "one", headers: { h: "1" } });
  await producer.publish("sums", { value: new Uint8Array([255]) });
  await producer.commitOffsets("summing", [{ topic: "sums", partition: 0, offset: 3 }]);
  await producer.commit();
  await producer.commit();
  const member = await tidegate.join("sum-readers", ["sums"], { reset: "earliest" });
  const found = [];
  while (found.length < 2) found.push(...(await member.poll({ waitMs: 5000 })));
  await member.leave();
  assert.deepEqual(found.map((record) => record.value), [new TextEncoder().encode("one"), new Uint8Array([255])]);
  const other = await tidegate.producer("billing");
  await producer.begin();
  await assert.rejects(producer.publish("sums", { value: "fenced" }), TidegateError);
  await other.close();
});

test("topics are made, listed and deleted", { timeout: PATIENCE_MS }, async () => {
  await tidegate.createTopic("made", { partitions: 3 });
  assert.deepEqual(await tidegate.topics("made"), [{ name: "made", partitions: 3 }]);
  await tidegate.deleteTopic("made");
  assert.deepEqual(await tidegate.topics("made"), []);
});

test("one bad record is told apart", { timeout: PATIENCE_MS }, async () => {
  const [first, second] = await tidegate.publish("mixed", { value: "a", partition: 9 }, { value: "b" });
  assert.ok(first !== undefined && "error" in first && !first.isPassing);
  assert.deepEqual(second, { partition: 0, offset: 0 });
});

test("what is refused is told in the broker's words", { timeout: PATIENCE_MS }, async () => {
  await assert.rejects(tidegate.deleteTopic("missing"), (error: unknown) => {
    return error instanceof TidegateError && error.status === 404 && error.message.includes("missing");
  });
});

test("the broker is well", { timeout: PATIENCE_MS }, async () => {
  assert.ok((await new Tidegate(`${url}/`).health()).status);
});
