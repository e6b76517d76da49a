/** Builds the studio: a page for browsers, whose parts are loaded when they are needed. */
import { join } from 'node:path';
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

export async function buildStudio(root: string, outDir: string): Promise<void> {
  await build(studioConfig(root, outDir));
}
