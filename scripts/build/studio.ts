/** Builds the studio: a page for browsers, whose parts are loaded when they are needed. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { build, type InlineConfig } from 'vite';

/** Settings of the studio's build. @param outDir - where it is written */
function studioConfig(root: string, outDir: string): InlineConfig {
  return {
    root: join(root, 'studio'),
    configFile: false,
    logLevel: 'error',
    // Addresses are relative, so that the page works below any path.
    base: './',
    oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2023',
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      reportCompressedSize: false,
      license: { fileName: 'third-party-licenses.txt' },
    },
  };
}

/** Writes each text beside itself as `NAME.br` and `NAME.gz`, so that servers need not compress it. */
function compressFiles(folder: string): void {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const name of names.filter((each) => /\.(?:js|css|html|svg)$/u.test(each))) {
    const text = readFileSync(join(folder, name));
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(text));
    writeFileSync(join(folder, `${name}.gz`), gzipSync(text, { level: 9 }));
  }
}

export async function buildStudio(root: string, outDir: string): Promise<void> {
  await build(studioConfig(root, outDir));
  compressFiles(outDir);
}
