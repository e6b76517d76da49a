/** The page of a post-mortem as a browser shows it. Where Chromium is not installed, this is skipped, and says so. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { openHistory } from '../../src/app/open-store/open-history.ts';
import { drawPage } from '../../src/app/draw/index.ts';
import { runDot } from '../dot-kit.ts';
import { findChromium, lookAt } from '../support/chromium.ts';

const hostile = `<script>document.title='taken'</script><img src=http://127.0.0.1:9/i onerror="document.title='taken'">]]>-->`;

/** How the page looks from within: what is drawn, what stands where, and what is wider than the screen. */
const look = `({
  title: document.title,
  acting: document.querySelectorAll('script, img, iframe, object, embed, link, form').length,
  headings: [...document.querySelectorAll('h2')].map((one) => one.textContent),
  short: document.querySelector('.summary').textContent,
  drawn: [...document.querySelectorAll('.graph svg .box text')].map((one) => one.textContent),
  size: document.querySelector('.graph svg').getBoundingClientRect().width > 100,
  told: [...document.querySelectorAll('article h3')].map((one) => one.textContent.split(' ').slice(0, 3).join(' ')),
  leads: [...document.querySelectorAll('a')].every((one) => document.querySelector(one.getAttribute('href'))),
  wider: document.documentElement.scrollWidth - document.documentElement.clientWidth,
})`;

test('N14 P14 in Chromium a page shows the graph and the whole story, asks for nothing, and nothing written into the run acts', async (context) => {
  const browser = (await findChromium()) ?? context.skip('Chromium is not installed');
  const { result, bench, workflow } = await runDot(
    `digraph Page {
      graph [goal="${hostile.replaceAll('"', '\\"')}"]
      start [shape=Mdiamond]
      exit [shape=Msquare]
      build -> ask
      start -> build [label="${hostile.replaceAll('"', '\\"')}"]
      mend -> build
      build [retry_target=mend]
      ask [shape=hexagon, label="${'long '.repeat(400)}"]
      ask -> exit
    }`,
    { script: { build: [{ status: 'fail', failureReason: `${hostile}${'x'.repeat(200)}` }, 'success'] } },
  );
  const story = await openHistory(bench.store, { blobs: bench.options.blobs }).postMortem(result.runId);
  const folder = mkdtempSync(join(tmpdir(), 'cairn-page-'));
  const file = join(folder, 'page.html');
  try {
    writeFileSync(file, await drawPage(story, workflow.graph));
    const seen = await lookAt(browser, file, { widthPx: 400, expression: look });
    expect(seen.requests).toEqual([pathToFileURL(file).href]);
    expect(seen.console).toEqual([]);
    expect(seen.value).toMatchObject({
      title: `Page paused · ${story.runId}@${story.seq}`,
      acting: 0,
      headings: ['In short', 'The graph', 'What happened'],
      short: expect.stringContaining(hostile) as string,
      drawn: expect.arrayContaining(['start', 'build', '2 visits', 'mend', 'ask', 'waiting', 'exit']) as string[],
      size: true,
      leads: true,
      wider: 0,
    });
    expect((seen.value as { told: readonly string[] }).told.map((heading) => heading.replace(/^@\d+ /, ''))).toEqual([
      'start success',
      'build fail',
      'mend success',
      'build success',
      'ask waiting',
    ]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
