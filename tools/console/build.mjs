// Builds the console into static files that the broker serves and the wheel carries: node build.mjs [FOLDER]
import { build } from "esbuild";
import { copyFile, mkdir } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2] ?? join(here, "../../wire/http/console"));

await mkdir(out, { recursive: true });
await build({
  absWorkingDir: here,
  entryPoints: { console: "src/main.tsx" },
  outdir: out,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
});
await copyFile(join(here, "src/index.html"), join(out, "index.html"));
