// Steps of the registry's scenarios by @kafkajs/confluent-schema-registry: `node steps.mjs URL`, an order as JSON a line
// on the standard input, an answer as JSON a line on the standard output.
import { createInterface } from "node:readline";
import registryModule from "@kafkajs/confluent-schema-registry";

const { SchemaRegistry } = registryModule;
const registry = new SchemaRegistry({ host: process.argv[2], retry: { retries: 0 } });

const steps = {
  register: async ({ type, schema, subject, references }) =>
    (await registry.register({ type, schema, references }, { subject })).id,
  latest: ({ subject }) => registry.getLatestSchemaId(subject),
  version: ({ subject, version }) => registry.getRegistryId(subject, version),
  lookUp: ({ subject, type, schema }) => registry.getRegistryIdBySchema(subject, { type, schema }),
  encode: async ({ id, value }) => (await registry.encode(id, value)).toString("base64"),
  decode: ({ bytes }) => registry.decode(Buffer.from(bytes, "base64")),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { step, ...given } = JSON.parse(line);
  let answer;
  try {
    answer = { found: await steps[step](given) };
  } catch (error) {
    answer = { refused: error.message };
  }
  console.log(JSON.stringify(answer));
}
