// Writes src/schema.ts from the broker's own OpenAPI document: `npm run generate`. Needs the project's .venv, no broker.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const root = new URL("../../../", import.meta.url);
const python = process.env.PYTHON ?? new URL(".venv/bin/python", root).pathname;
const program = "import sys; from wire.http.openapi import document; sys.stdout.buffer.write(document('0', False))";
const document = execFileSync(python, ["-c", program], { cwd: root, maxBuffer: 64 * 1024 * 1024 });
const tree = await openapiTS(JSON.parse(document.toString("utf8")), { defaultNonNullable: false });
writeFileSync(new URL("../src/schema.ts", import.meta.url), `// Written by scripts/generate.mjs.\n${astToString(tree)}`);
