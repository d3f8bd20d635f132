// Load for an installation that runs, through its HTTP door: writers, readers and delayed records side by side.
//   k6 run deploy/load/k6.js
//   k6 run -e URL=https://tidegate.example:8080 -e TOKEN=... -e RATE=200 -e DURATION=10m deploy/load/k6.js
// URL      an operations door (any node's)               TOKEN     its http.token, or Basic NAME:PASSWORD as USER
// TOPIC    is made if it is not there; k6-load           PARTITIONS  of it, 6
// RATE     requests with records per second, 20          BATCH     records in each, 50
// READERS  readers, one partition after the other, 2     DURATION  30s
// P95_MS   a request that writes may take so long, 500   SIZE      bytes of each value, 200
//
// It fails (status 99) where requests fail, take longer than P95_MS, or where a record that was acknowledged is missing
// or is read before it is due. Every record of a run carries its id, so runs do not disturb each other.
import http from "k6/http";
import encoding from "k6/encoding";
import { check, fail, sleep } from "k6";
import { Counter, Rate, Trend } from "k6/metrics";

const URL = __ENV.URL || "http://127.0.0.1:8080";
const TOPIC = __ENV.TOPIC || "k6-load";
const PARTITIONS = Number(__ENV.PARTITIONS || 6);
const RATE = Number(__ENV.RATE || 20);
const BATCH = Number(__ENV.BATCH || 50);
const READERS = Number(__ENV.READERS || 2);
const DURATION = __ENV.DURATION || "30s";
const FILLING = "x".repeat(Number(__ENV.SIZE || 200));
const DELAY_MS = 2000;
const PATIENCE_MS = 30000;
const PAGE = 1000;

const written = new Counter("records_written");
const read = new Counter("records_read");
const missing = new Counter("records_missing");
const early = new Rate("delayed_early");
const lateness = new Trend("delayed_lateness_ms");

export const options = {
  scenarios: {
    write: { executor: "constant-arrival-rate", exec: "write", rate: RATE, duration: DURATION, preAllocatedVUs: 20, maxVUs: 50 },
    delay: { executor: "constant-vus", exec: "delay", vus: 1, duration: DURATION },
    ...(READERS > 0 && { read: { executor: "constant-vus", exec: "readOn", vus: READERS, duration: DURATION } }),
  },
  thresholds: {
    checks: ["rate>0.999"],
    "http_req_duration{scenario:write}": [`p(95)<${Number(__ENV.P95_MS || 500)}`],
    records_missing: ["count==0"],
    delayed_early: ["rate==0"],
  },
  // The last look reads everything that this run has written.
  teardownTimeout: "10m",
};

function headers() {
  const found = { "Content-Type": "application/json" };
  if (__ENV.TOKEN) found.Authorization = `Bearer ${__ENV.TOKEN}`;
  if (__ENV.USER) found.Authorization = `Basic ${encoding.b64encode(__ENV.USER)}`;
  return found;
}

function params(name) {
  return { headers: headers(), tags: { name }, timeout: "60s" };
}

export function setup() {
  const body = JSON.stringify({ name: TOPIC, partitions: PARTITIONS });
  const made = http.post(`${URL}/topics`, body, { ...params("make the topic"), responseCallback: http.expectedStatuses(201, 409) });
  if (made.status !== 201 && made.status !== 409) fail(`the topic cannot be made: ${made.status} ${made.body}`);
  const topic = http.get(`${URL}/topics/${TOPIC}`, params("look at the topic")).json();
  const starts = topic.partitions.items.map((partition) => partition.end_offset);
  return { run: `${Date.now()}-${Math.random().toString(36).slice(2, 8)}`, starts };
}

let sent = 0;

// Each writer numbers its records without gaps, and goes on with the next number when one is acknowledged.
export function write({ run }) {
  const records = [];
  for (let index = 0; index < BATCH; index++) {
    records.push({ key: `${__VU}-${index % 16}`, value: { run, writer: __VU, number: sent + index, filling: FILLING } });
  }
  const answer = http.post(`${URL}/topics/${TOPIC}/messages`, JSON.stringify(records), params("write"));
  const done = check(answer, { "records are written": (each) => each.status === 200 && each.json("failed") === 0 });
  if (done) {
    written.add(BATCH);
    sent += BATCH;
  }
}

let position = "latest";

export function readOn() {
  const query = `offset=${encodeURIComponent(position)}&limit=${PAGE}&wait=1000`;
  const answer = http.get(`${URL}/topics/${TOPIC}/messages?${query}`, params("read"));
  if (check(answer, { "records are read": (each) => each.status === 200 })) {
    read.add(answer.json("messages").length);
    position = answer.json("next");
  }
}

export function delay({ run }) {
  const id = `${run}-${__VU}-${__ITER}`;
  const sentAt = Date.now();
  const record = { key: id, value: { run, delayed: id }, delay: DELAY_MS, scheduleId: id };
  const answer = http.post(`${URL}/topics/${TOPIC}/messages`, JSON.stringify(record), params("delay"));
  if (!check(answer, { "a delayed record is taken": (each) => each.status === 200 })) return;
  // Any node reads any partition; who holds back what only its leader knows.
  const place = `${URL}/topics/${TOPIC}/partitions/${answer.json("messages.0.partition")}/messages`;
  let from = `time=${sentAt - 60000}`;
  while (Date.now() < sentAt + DELAY_MS + PATIENCE_MS) {
    const filter = encodeURIComponent(`key = "${id}"`);
    const found = http.get(`${place}?${from}&filter=${filter}&limit=${PAGE}&wait=500`, params("wait for it"));
    if (found.status !== 200) {
      sleep(0.5);
      continue;
    }
    if (found.json("messages").length > 0) {
      const taken = Date.now() - sentAt;
      early.add(taken < DELAY_MS);
      lateness.add(Math.max(0, taken - DELAY_MS));
      return;
    }
    from = `offset=${encodeURIComponent(found.json("next"))}`;
  }
  check(null, { "a delayed record arrives": () => false });
}

export function teardown({ run, starts }) {
  const numbers = {};
  starts.forEach((start, partition) => {
    let at = start;
    for (;;) {
      const place = `${URL}/topics/${TOPIC}/partitions/${partition}/messages`;
      const query = `offset=${at}&limit=${PAGE}&maxBytes=4194304&format=json`;
      const answer = http.get(`${place}?${query}`, { ...params("read again"), responseCallback: http.expectedStatuses(200, 416) });
      if (answer.status === 416 && at !== "earliest") {
        at = "earliest"; // what was there is gone: what is left is counted
        continue;
      }
      if (!check(answer, { "everything can be read again": (each) => each.status === 200 })) return;
      const { messages, next } = answer.json();
      for (const { value } of messages) {
        if (value && value.run === run && value.writer !== undefined) {
          (numbers[value.writer] ??= new Set()).add(value.number);
        }
      }
      if (messages.length === 0 && String(next) === String(at)) break;
      at = next;
    }
  });
  for (const [writer, found] of Object.entries(numbers)) {
    const gaps = Math.max(...found) + 1 - found.size;
    if (gaps > 0) console.error(`writer ${writer}: ${gaps} records are missing`);
    missing.add(gaps);
  }
}
