/** Pictures and pages: what anybody wrote into a graph or a run is text in them, and can do nothing. */
import { expect, test } from 'vitest';
import { pictureOf } from '../../dialects/dot/picture/picture.ts';
import { readDot } from '../../dialects/dot/index.ts';
import { END, START, type GraphStructure } from '../../graph/graph.ts';
import type { PostMortem, StoryVisit } from '../../history/explain/story.ts';
import { marksOf } from '../../operations/runs/picture-marks.ts';
import { drawGraph, drawPage } from './index.ts';
import { storyPage } from './story-page.ts';

const hostile = [
  '<script>alert(1)</script>',
  '"]; evil [URL="javascript:alert(1)"]; n99 [label="',
  "'><img src=x onerror=alert(1)>",
  '&lt;script&gt;alert(1)&lt;/script&gt;',
  'ends with \\',
  'a\nb\\nc\u0000\u202e',
] as const;

function structureOf(ids: readonly string[]): GraphStructure {
  const steps = [START, ...ids, END];
  return {
    id: 'g',
    nodes: ids.map((id) => ({ id, type: 'function', effect: 'pure' })),
    edges: steps
      .slice(1)
      .map((to, index) => ({ key: to, from: steps[index], to, label: `to ${to}`, condition: { text: `is ${to}` } })),
    reducers: {},
    schemas: {},
    policies: { routing: 'all' } as GraphStructure['policies'],
  };
}
const visit = (path: readonly string[], more: Partial<StoryVisit> = {}): StoryVisit => ({
  kind: 'visit',
  runId: 'r',
  seq: 1,
  at: 0,
  path,
  visit: 1,
  status: 'completed',
  attempts: 1,
  retries: [],
  steps: [],
  questions: [],
  changes: [],
  edges: [],
  ...more,
});
const at = { runId: 'r', seq: 1, at: 0 };
function openVisit(path: readonly string[], more: Partial<StoryVisit>): StoryVisit {
  const { attempts: _, ...begun } = visit(path, { status: 'started', ...more });
  return begun;
}
const storyOf = (entries: PostMortem['entries'], more: Partial<PostMortem> = {}): PostMortem => ({
  runId: 'r',
  graphId: 'g',
  status: 'completed',
  seq: 3,
  startedAt: 0,
  endedAt: 5_000,
  entries,
  failures: {},
  ...more,
});

/** The boxes of a picture. */
const boxesOf = (svg: string): readonly string[] => svg.split('<g class="box"').slice(1);

/** What could act in a page: tags that are not ours, handlers, schemes. */
function dangersIn(html: string): readonly string[] {
  // Ways to places in the page itself are ours.
  const tags = [...html.matchAll(/<[^>]*>/g)].map(([tag]) => tag).filter((tag) => !/^<a href="#v\d+">$/.test(tag));
  return tags.filter((tag) =>
    /<\s*(script|img|iframe|object|embed|a|foreignObject|use|image|link)\b|\son\w+\s*=|href|javascript:|data:/i.test(
      tag,
    ),
  );
}

test('P14 whatever nodes are called, the picture is of as many nodes, and only shows the names', () => {
  const svg = pictureOf(structureOf(hostile));
  expect(boxesOf(svg)).toHaveLength(hostile.length);
  expect(dangersIn(svg)).toEqual([]);
  expect(svg).toContain('>&lt;script&gt;alert(1)&lt;/script&gt;</text>');
  expect(svg).toContain('&amp;lt;script&amp;gt;');
  for (const sign of ['<script', '\u0000', '\u202e']) expect(svg).not.toContain(sign);
  const tags = new Set([...svg.matchAll(/<([a-zA-Z]+)/g)].map(([, tag]) => tag));
  expect(tags).toEqual(new Set(['circle', 'g', 'path', 'rect', 'svg', 'text', 'title']));
});

test('P14 a page holds the story as text: nothing that was written into a run can act, and a policy forbids the rest', () => {
  const [script, , image] = hostile;
  const page = storyPage(
    storyOf(
      [
        visit([script], {
          error: { code: image, message: script },
          value: { outcome: script, failure_reason: image },
          questions: [
            {
              runId: 'r',
              seq: 1,
              at: 0,
              kind: 'question',
              name: 'q',
              prompt: script,
              closedAt: { runId: 'r', seq: 2, at: 1 },
              by: image,
              answer: script,
            },
          ],
          changes: [{ path: ['scratch', script], after: image }],
          edges: [{ to: script, label: image, condition: script, fired: true, because: image }],
          retries: [{ runId: 'r', seq: 1, at: 0, attempt: 1, step: script, error: { code: 'X', message: image } }],
        }),
        { kind: 'resume', runId: script, seq: 2, at: 0, by: image },
      ],
      {
        runId: script,
        graphId: image,
        failures: { [script]: { code: 'X', message: image } },
        result: { gates: { [script]: image } },
      },
    ),
    pictureOf(structureOf(hostile)),
  );
  expect(dangersIn(page)).toEqual([]);
  expect(page).toContain(
    `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline';`,
  );
  expect(page).toMatch(/<svg style="min-width:\d+px" xmlns="[^"]*" role="img" aria-label="The graph g"/);
  expect(page).not.toMatch(/https?:(?!\/\/www\.w3\.org\/2000\/svg)/);
});

test('C2.1 a page masks what stands under the name of a secret, and without a picture it has an outline', async () => {
  const page = await drawPage(
    storyOf([
      visit(['a'], {
        changes: [{ path: ['scratch', 'password'], before: 'hunter2', after: 'hunter3' }],
        value: { token: 'hunter4' },
        edges: [{ to: 'b', fired: true, because: 'it is the only one' }],
      }),
    ]),
  );
  expect(page).not.toContain('hunter');
  expect(page).toContain('<ol class="outline"><li class="good">a → b</li></ol>');
});

test('N13 a page begins with why the run failed, what it asks and how its pipeline says that it ended, and leads to each visit', () => {
  const page = storyPage(
    storyOf(
      [
        visit(['build'], { status: 'failed', error: { code: 'X', message: 'red' }, edges: [] }),
        visit(['mend'], { changes: [{ path: ['scratch', 'note'], after: '' }] }),
        openVisit(['ask'], { questions: [{ ...at, kind: 'question', name: 'go', prompt: 'Go on?' }] }),
        visit(['ship'], { status: 'failed', error: { code: 'X', message: 'refused' } }),
      ],
      {
        failures: { ship: { code: 'X', message: 'refused' } },
        result: { status: 'partial_success', gates: { build: 'fail' } },
      },
    ),
  );
  const [head = '', short = ''] = page.split('<h2>');
  expect(head).toContain('<span class="warn">partial_success</span></h1>');
  expect(short.split('\n').slice(0, -1)).toEqual([
    'In short</h2>',
    '<div class="bad">ship failed: refused [X] <a href="#v4">@1</a></div>',
    '<div class="warn">ask asked Go on?: still open <a href="#v3">@1</a></div>',
    '<p>goal gates: build <b>fail</b></p>',
    '<p>failed on the way:</p><ul><li>build: red [X] <a href="#v1">@1</a></li></ul></section>',
  ]);
  expect([...page.matchAll(/<article id="(\w+)" class="(\w+)"/g)].map(([, id, tone]) => `${id} ${tone}`)).toEqual([
    'v1 bad',
    'v2 good',
    'v3 warn',
    'v4 bad',
  ]);
  expect(page).toContain('1 value changed</summary>');
  expect(page).toContain('<td><code>&quot;&quot;</code></td>');
});

test('P14 of a long text the beginning is seen and the rest is folded, and it is cut with its length told', () => {
  const question = { ...at, kind: 'question' as const, name: 'q', prompt: `start ${'x'.repeat(50_000)}` };
  const page = storyPage(storyOf([visit(['a'], { questions: [question], value: `\u061c${'<b>'.repeat(3_000)}` })]));
  expect(page).toMatch(
    /<div><details class="long"><summary>asked start x{228}…<\/summary><pre>asked start x+… <i>50,\d{3} characters in all/,
  );
  expect(page).toMatch(/<pre>\ufffd(?:&lt;b&gt;){1333}… <i>9,001 characters in all<\/i><\/pre>/);
  expect(page.length).toBeLessThan(60_000);
});

test('N14 a run marks its picture in colours and in words: how each node ended last, and which edges were taken', async () => {
  const structure = structureOf(['a', 'b', 'c']);
  const story = storyOf([
    visit(['a'], { edges: [{ to: 'b', fired: true, because: '' }] }),
    visit(['b'], { status: 'failed', attempts: 3 }),
    visit(['f'], { value: { outcome: 'fail' } }),
    visit(['d'], { verdict: 'partial_success', retries: [{ ...at, attempt: 1, step: 'work' }] }),
    openVisit(['e'], { questions: [{ ...at, kind: 'question', name: 'go' }] }),
  ]);
  const { nodes, taken } = marksOf(story);
  expect([...nodes]).toEqual([
    ['a', { tone: 'good' }],
    ['b', { tone: 'bad', note: 'failed, 3 attempts' }],
    ['f', { tone: 'good' }],
    ['d', { tone: 'warn', note: 'partial success, 2 attempts' }],
    ['e', { tone: 'warn', note: 'waiting' }],
  ]);
  expect([...taken]).toEqual([
    ['a\nb', 1],
    ['__start__\na', 1],
    ['__start__\nf', 1],
    ['__start__\nd', 1],
    ['__start__\ne', 1],
  ]);
  const picture = pictureOf(structure, marksOf(story));
  expect(boxesOf(picture).map((box) => /<rect[^>]*fill="(#\w+)"/.exec(box)?.[1])).toEqual([
    '#dcf5e3',
    '#ffe2e0',
    '#ffffff',
  ]);
  expect(boxesOf(picture)[1]).toContain('>failed, 3 attempts</text>');
  expect(await drawGraph(structure, story)).toBe(picture);
  expect(await drawGraph(structure)).not.toContain('#ffe2e0');
});

test('N14 the start of each run leads to the nodes to which nothing else led in that run', () => {
  const entries = [
    visit(['outputs', 'run 0', 'plan'], { edges: [{ to: 'work', fired: true, because: '' }] }),
    visit(['outputs', 'run 0', 'work'], { edges: [{ to: 'outputs', fired: true, because: '' }] }),
    visit(['outputs', 'run 1', 'work'], { edges: [{ to: 'outputs', fired: true, because: '' }] }),
    visit(['outputs', 'run 1', 'outputs']),
    visit(['outputs']),
  ];
  expect(Object.fromEntries(marksOf(storyOf(entries)).taken)).toEqual({
    'outputs/plan\nwork': 1,
    'outputs/work\noutputs': 2,
    'outputs/__start__\nplan': 1,
    'outputs/__start__\nwork': 1,
    '__start__\noutputs': 1,
  });
});

test('N14 the edges of a pipeline have the labels and conditions of its file, and say where a failure leads', () => {
  const { graph } = readDot(`digraph Ship {
    start [shape=Mdiamond]
    exit [shape=Msquare]
    check [shape=parallelogram, tool_command="true", goal_gate=true, retry_target=start]
    ask [shape=hexagon]
    start -> check
    check -> ask [condition="outcome=success && context.tries!=3"]
    check -> exit
    ask -> check [label="[A] Again"]
    ask -> exit [label="[E] End \\N"]
    aside [tool_command="true", shape=parallelogram]
    check -> aside
  }`);
  const svg = pictureOf(graph.structure);
  const labels = [...svg.matchAll(/<text[^>]*text-anchor="middle"[^>]*>(?:<title>[^<]*<\/title>)?([^<]*)/g)].map(
    ([, label]) => label,
  );
  expect(new Set(labels)).toEqual(
    new Set([
      'goal gate',
      'outcome=success &amp;&amp; context.tries!=3',
      'retry target',
      'the run fails here',
      '[A] Again',
      '[E] End \\N',
    ]),
  );
  expect(svg).toContain('>wait.human</text>');
});
