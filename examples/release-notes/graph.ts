/**
 * Release notes from the git history of a repository: reads it, drafts, asks a person, writes the file, and records that it did.
 * Every effect class is here, so that each can be watched when the process is killed, resumed and forked.
 */
import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import {
  AgentGraph,
  END,
  fileNode,
  humanNode,
  mapNode,
  NodeFailure,
  outcome,
  shellNode,
  START,
  type NodeContext,
} from '../../src/index.ts';
import { groupCommits, logFormat, parseLog, proposeVersion } from './commits.ts';
import { draftSection } from './drafter.ts';
import { findInLedger, writeLedger } from './ledger.ts';

const input = z.object({
  repo: z.string().default('.').describe('a folder in a git repository'),
  since: z.string().optional().describe('a tag, branch or commit; default: the last tag, or else the last commits'),
  limit: z.number().int().min(1).max(5_000).default(200).describe('at most this many commits'),
  out: z.string().default('.cairn/demo/RELEASE_NOTES.md'),
  ledger: z.string().default('.cairn/demo/ledger.jsonl').describe('where effects leave a line each'),
  paceMs: z.number().int().min(0).max(60_000).default(0).describe('how long the drafter takes for a section'),
});

const heading = z.object({ title: z.string(), version: z.string() });
type Heading = z.output<typeof heading>;

/** What is found and drafted: each part is written by the node that has it. */
const notes = z.object({ proposed: heading, sections: z.array(z.string()), credits: z.string() }).partial();

/** The folder with `.git` in it, from the given one upwards. */
function findRepository(repo: string): string {
  const start = resolve(repo);
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return folder;
    if (folder === dirname(folder))
      throw new NodeFailure(`${start} is not in a git repository`, {
        code: 'NOT_A_REPOSITORY',
        data: { folder: start },
      });
  }
}

/** Where the commits begin: where the caller says, else at the last tag, if there is one. */
function beginning(since: string | undefined, lastTag = ''): string | undefined {
  return since ?? (lastTag.trim() === '' ? undefined : lastTag.trim());
}

/** Without commits there is no HEAD, and no commits are no error; a `since` that does not exist is one. */
function rangeOf(since: string | undefined): readonly string[] {
  return since === undefined
    ? ['--ignore-missing', '--end-of-options', 'HEAD']
    : ['--end-of-options', `${since}..HEAD`];
}

function thankAuthors(log: string): string {
  const names = [...new Set(parseLog(log).map(({ author }) => author))].sort();
  return names.length === 0 ? 'No changes.' : `Thanks to ${names.join(', ')}.`;
}

function describeNotes({ proposed, sections = [], credits = '' }: z.output<typeof notes>, out: string): string {
  const headings = sections.map((section) => section.slice(3, section.indexOf('\n'))).join(', ');
  return `${proposed?.title} ${proposed?.version}: ${headings === '' ? credits : headings}. Write these notes to ${out}?`;
}

/** Two questions, one after the other: this function runs again from its top after each answer, and gets those it has. */
async function askHeading(ctx: Pick<NodeContext, 'ask'>, proposed: Heading | undefined): Promise<Heading> {
  const schema = { type: 'string', minLength: 1, maxLength: 200 } as const;
  return {
    title: await ctx.ask({ name: 'title', prompt: `Title, instead of ${proposed?.title}?`, schema }),
    version: await ctx.ask({ name: 'version', prompt: `Version, instead of ${proposed?.version}?`, schema }),
  };
}

function composeNotes(
  edited: Heading | undefined,
  { proposed, sections = [], credits }: z.output<typeof notes>,
): string {
  const { title, version } = edited ?? proposed ?? {};
  return `${[`# ${title} ${version}`, ...sections, credits].join('\n\n')}\n`;
}

export const releaseNotes = new AgentGraph(
  { input, scratch: z.object({ notes }) },
  { id: 'release-notes', reducers: { 'scratch.notes': 'merge' }, checkpointPolicy: 'every_node' },
)
  .addNode('repository', ({ input }) => findRepository(input.repo), { effectClass: 'read' })
  .addNode(
    'tag',
    shellNode({
      command: ['git', 'describe', '--tags', '--abbrev=0'],
      cwd: ({ state }) => state.outputs.repository ?? '.',
      okExitCodes: [0, 128],
      timeoutMs: 10_000,
    }),
    { effectClass: 'read' },
  )
  .addNode(
    'commits',
    shellNode({
      command: ['git', 'log', '--no-merges', `--format=${logFormat}`],
      cwd: ({ state }) => state.outputs.repository ?? '.',
      args: ({ state: { input, outputs } }) => [
        `--max-count=${input.limit}`,
        ...rangeOf(beginning(input.since, outputs.tag?.stdout)),
        '--',
      ],
      timeoutMs: 30_000,
    }),
    { effectClass: 'read' },
  )
  .addNode('group', ({ state }) => groupCommits(parseLog(state.outputs.commits?.stdout ?? '')))
  // Drafting a section is an effect outside: each has its key, and one in doubt is looked up in the drafter's account.
  .addNode(
    'draft',
    mapNode({
      over: ({ state: { input, outputs } }) =>
        (outputs.group ?? []).map((group) => ({ ...group, ledger: input.ledger, paceMs: input.paceMs })),
      key: ({ item }) => item.name,
      each: ({ item, idempotencyKey }) => draftSection(item, idempotencyKey),
      effectClass: 'external',
      reconcile: ({ item, idempotencyKey }) => findInLedger(item.ledger, idempotencyKey),
      timeoutMs: 60_000,
      concurrency: 2,
    }),
  )
  .addNode('sections', ({ state }) => outcome({ scratch: { notes: { sections: state.outputs.draft ?? [] } } }))
  .addNode('heading', ({ state: { input, outputs } }) => {
    const title = basename(outputs.repository ?? '');
    const version = proposeVersion(beginning(input.since, outputs.tag?.stdout), outputs.group ?? []);
    const credits = thankAuthors(outputs.commits?.stdout ?? '');
    return outcome({ scratch: { notes: { proposed: { title, version }, credits } } });
  })
  .addNode(
    'approve',
    humanNode({
      prompt: ({ state }) => describeNotes(state.scratch.notes ?? {}, state.input.out),
      choices: ['approve', 'edit', 'stop'],
    }),
    { join: 'all' },
  )
  .addNode('edit', (ctx) => askHeading(ctx, ctx.state.scratch.notes?.proposed), { effectClass: 'human' })
  .addNode('compose', ({ state }) => composeNotes(state.outputs.edit, state.scratch.notes ?? {}))
  .addNode(
    'write',
    fileNode({
      action: 'write',
      path: ({ state }) => state.input.out,
      content: ({ state }) => state.outputs.compose ?? '',
    }),
    { outputAs: 'notes' },
  )
  // Says to the world that the notes are out. A step: finer than a node, with a key of its own.
  .addNode(
    'record',
    (ctx) => {
      const { ledger, out } = ctx.state.input;
      const output = { out, sha256: ctx.state.outputs.write?.sha256 };
      // Its input is what the step depends on: a fork in which that is the same replays it, another does it.
      return ctx.step(
        'publish',
        {
          effect: 'external',
          input: output,
          reconcile: ({ idempotencyKey }) => findInLedger(ledger, idempotencyKey),
        },
        async ({ idempotencyKey }) => {
          await writeLedger(ledger, { key: idempotencyKey, effect: 'publish', output });
          return output;
        },
      );
    },
    { effectClass: 'read', outputAs: 'record' },
  )
  .addEdge(START, 'repository')
  .addConditionalEdge('repository', ({ state }) => (state.input.since === undefined ? 'tag' : 'commits'), [
    'tag',
    'commits',
  ])
  .addEdge('tag', 'commits')
  .addEdge('commits', 'group')
  .addEdge('group', 'draft')
  .addEdge('group', 'heading')
  .addEdge('draft', 'sections')
  .addEdge('sections', 'approve')
  .addEdge('heading', 'approve')
  .addConditionalEdge('approve', ({ state }) => state.outputs.approve ?? 'stop', {
    approve: 'compose',
    edit: 'edit',
    stop: END,
  })
  .addEdge('edit', 'compose')
  .addEdge('compose', 'write')
  .addEdge('write', 'record')
  .addEdge('record', END);

export const graph = releaseNotes.compile();
