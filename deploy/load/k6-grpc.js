// Load for an installation that runs, through its gRPC door: writers by call and by stream, and a reader that follows.
//   k6 run deploy/load/k6-grpc.js
//   k6 run -e ADDRESS=broker.example.org:9095 -e TLS=1 -e TOKEN=... -e RATE=200 -e DURATION=10m deploy/load/k6-grpc.js
// ADDRESS  a node's gRPC door; 127.0.0.1:9095            TLS     1 where it speaks TLS; CA names who vouches for it, PEM
// TOPIC    k6-grpc; made if it is not there              TOKEN   its grpc.token, or Basic NAME:PASSWORD as USER
// RATE     calls with records per second, 20             BATCH   records in each, 100
// STREAMS  streams that write, batch after batch, 2      SIZE    bytes of each value, 200
// DURATION 30s                                           P95_MS  a call that writes may take so long, 500
//
// It fails (status 99) where a call fails or takes longer than P95_MS, or where a record that was acknowledged is
// missing afterwards. The door tells by reflection what can be called: nothing but this file is needed.
import grpc from "k6/net/grpc";
import encoding from "k6/encoding";
import { check, fail } from "k6";
import exec from "k6/execution";
import { Counter } from "k6/metrics";

const ADDRESS = __ENV.ADDRESS || "127.0.0.1:9095";
const TOPIC = __ENV.TOPIC || "k6-grpc";
const RATE = Number(__ENV.RATE || 20);
const BATCH = Number(__ENV.BATCH || 100);
const STREAMS = Number(__ENV.STREAMS || 2);
const DURATION = __ENV.DURATION || "30s";
const FILLING = "x".repeat(Number(__ENV.SIZE || 200));
const BATCHES_PER_STREAM = 20;
const CA = __ENV.CA && open(__ENV.CA);

const written = new Counter("records_written");
const read = new Counter("records_read");
const missing = new Counter("records_missing");

export const options = {
  scenarios: {
    call: { executor: "constant-arrival-rate", exec: "call", rate: RATE, duration: DURATION, preAllocatedVUs: 20, maxVUs: 50 },
    ...(STREAMS > 0 && { stream: { executor: "constant-vus", exec: "stream", vus: STREAMS, duration: DURATION } }),
    follow: { executor: "constant-vus", exec: "follow", vus: 1, duration: DURATION },
  },
  thresholds: {
    checks: ["rate>0.999"],
    "grpc_req_duration{scenario:call}": [`p(95)<${Number(__ENV.P95_MS || 500)}`],
    records_missing: ["count==0"],
  },
  // The last look reads everything that this run has written.
  teardownTimeout: "10m",
};

const client = new grpc.Client();
let connected = false;

function connect() {
  if (connected) return;
  const asked = { reflect: true, reflectMetadata: params().metadata, timeout: "30s" };
  client.connect(ADDRESS, { plaintext: !__ENV.TLS, ...asked, ...(CA && { tls: { cacerts: CA } }) });
  connected = true;
}

function params() {
  const metadata = {};
  if (__ENV.TOKEN) metadata.authorization = `Bearer ${__ENV.TOKEN}`;
  if (__ENV.USER) metadata.authorization = `Basic ${encoding.b64encode(__ENV.USER)}`;
  return { metadata, timeout: "60s" };
}

export function setup() {
  connect();
  const made = client.invoke("tidegate.v1.Admin/CreateTopic", { topic: TOPIC }, params());
  if (made.status !== grpc.StatusOK && made.status !== grpc.StatusAlreadyExists) fail(`the topic cannot be made: ${made.error.message}`);
  return { run: `${Date.now()}-${Math.random().toString(36).slice(2, 8)}` };
}

let sent = 0;

// Each writer numbers its records without gaps, and goes on with the next number when one is acknowledged.
function batch(run, first) {
  const records = [];
  for (let index = 0; index < BATCH; index++) {
    const name = `${run}/${exec.vu.idInTest}/${first + index}`;
    records.push({ key: encoding.b64encode(name), value: encoding.b64encode(FILLING) });
  }
  return { topic: TOPIC, records };
}

function isWritten(answer) {
  return (answer.refused || []).length === 0 && answer.offsets.length === BATCH;
}

export function call({ run }) {
  connect();
  const answer = client.invoke("tidegate.v1.Produce/Send", batch(run, sent), params());
  const done = check(answer, { "records are written": (each) => each.status === grpc.StatusOK && isWritten(each.message) });
  if (done) {
    written.add(BATCH);
    sent += BATCH;
  }
}

export function stream({ run }) {
  connect();
  const sending = new grpc.Stream(client, "tidegate.v1.Produce/SendStream", params());
  let answered = 0;
  // The number of the next batch is used whether or not this one is answered: then it is a gap, and counts as missing.
  sending.on("data", (answer) => {
    if (check(answer, { "records of streams are written": isWritten })) written.add(BATCH);
    if (++answered === BATCHES_PER_STREAM) sending.end();
  });
  sending.on("error", (error) => check(error, { "streams go on": () => false }));
  for (let number = 0; number < BATCHES_PER_STREAM; number++) {
    sending.write(batch(run, sent));
    sent += BATCH;
  }
}

function each(wanted, take) {
  return new Promise((done) => {
    const reading = new grpc.Stream(client, "tidegate.v1.Consume/Read", { ...params(), timeout: "10m" });
    reading.on("data", (found) => take(found.records || []));
    reading.on("error", (error) => check(error, { "records are read": () => false }));
    reading.on("end", done);
    reading.write({ topic: TOPIC, ...wanted });
    reading.end();
  });
}

export async function follow() {
  connect();
  await each({ start: { edge: "EDGE_LATEST" }, maxRecords: 10 * BATCH }, (records) => read.add(records.length));
}

export async function teardown({ run }) {
  connect();
  const numbers = {};
  await each({ untilEnd: true }, (records) => {
    for (const { key } of records) {
      const [which, writer, number] = key ? encoding.b64decode(key, "std", "s").split("/") : [];
      if (which === run) (numbers[writer] ??= new Set()).add(Number(number));
    }
  });
  for (const [writer, found] of Object.entries(numbers)) {
    let last = 0;
    found.forEach((number) => (last = Math.max(last, number)));
    const gaps = last + 1 - found.size;
    if (gaps > 0) console.error(`writer ${writer}: ${gaps} records are missing`);
    missing.add(gaps);
  }
}
