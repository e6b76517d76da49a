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
  type StateView,
} from '../../src/index.ts';
import type { Reconciliation } from '../../src/graph/node-contract.ts';
import type { FileOutput, ShellOutput } from '../../src/nodes/index.ts';
import { groupCommits, logFormat, parseLog, proposeVersion, type CommitGroup } from './commits.ts';
import { draftSection, type DraftRequest } from './drafter.ts';
import { findInLedger, writeLedger } from './ledger.ts';

const inputSchema = z.object({
  repo: z.string().default('.').describe('a folder in a git repository'),
  since: z.string().optional().describe('a tag, branch or commit; default: the last tag, or else the last commits'),
  limit: z.number().int().min(1).max(5_000).default(200).describe('at most this many commits'),
  out: z.string().default('.cairn/demo/RELEASE_NOTES.md'),
  ledger: z.string().default('.cairn/demo/ledger.jsonl').describe('where effects leave a line each'),
  paceMs: z.number().int().min(0).max(60_000).default(0).describe('how long the drafter takes for a section'),
});

interface State extends StateView {
  readonly input: z.output<typeof inputSchema>;
}

/** Runs git in the repository, without a shell: a value is an argument and nothing else. */
const git = (...args: readonly (string | ((state: State) => string))[]): [string, ...typeof args] => [
  'git',
  '-C',
  ({ outputs }) => outputs['repository'] as string,
  ...args,
];

/** The folder with `.git` in it, from the given one upwards. */
function findRepository({ repo }: State['input']): string {
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

const lastTag = shellNode<State>(
  { command: git('describe', '--tags', '--abbrev=0'), okExitCodes: [0, 128], timeoutMs: 10_000 },
  { effectClass: 'read' },
);

function sinceOf({ input, outputs }: State): string | undefined {
  const tag = (outputs['tag'] as ShellOutput | undefined)?.stdout.trim();
  return input.since ?? (tag === '' ? undefined : tag);
}

const readCommits = shellNode<State>(
  {
    command: git('log', '--no-merges', `--format=${logFormat}`),
    // Without commits there is no HEAD, and no commits are no error; a `since` that does not exist is one.
    args: (state) => {
      const since = sinceOf(state);
      const range =
        since === undefined ? ['--ignore-missing', '--end-of-options', 'HEAD'] : ['--end-of-options', `${since}..HEAD`];
      return [`--max-count=${state.input.limit}`, ...range, '--'];
    },
    timeoutMs: 30_000,
  },
  { effectClass: 'read' },
);

/** Drafting a section is an effect outside: each has its key, and one in doubt is looked up in the drafter's account. */
const draft = mapNode<State, DraftRequest>({
  over: ({ input: { ledger, paceMs }, outputs }) =>
    (outputs['group'] as readonly CommitGroup[]).map((group) => ({ ...group, ledger, paceMs })),
  key: ({ name }) => name,
  each: (request, { idempotencyKey }) => draftSection(request, idempotencyKey),
  effectClass: 'external',
  reconcile: (key, { ledger }) => findInLedger(ledger, key),
  timeoutMs: 60_000,
  concurrency: 2,
});

function thankAuthors(log: string): string {
  const names = [...new Set(parseLog(log).map(({ author }) => author))].sort();
  return names.length === 0 ? 'No changes.' : `Thanks to ${names.join(', ')}.`;
}

interface Heading {
  readonly title: string;
  readonly version: string;
}
interface Notes {
  readonly proposed: Heading;
  readonly sections: readonly string[];
  readonly credits: string;
}

const notesOf = ({ scratch }: StateView): Notes => scratch['notes'] as Notes;

const approve = humanNode<State>({
  prompt: (state) => {
    const { proposed, sections, credits } = notesOf(state);
    const headings = sections.map((section) => section.slice(3, section.indexOf('\n'))).join(', ');
    return `${proposed.title} ${proposed.version}: ${headings === '' ? credits : headings}. Write these notes to ${state.input.out}?`;
  },
  choices: ['approve', 'edit', 'stop'],
});

/** Two questions, one after the other: this function runs again from its top after each answer, and gets those it has. */
async function askHeading(ctx: NodeContext): Promise<Heading> {
  const { title, version } = notesOf(ctx.state).proposed;
  const text = { type: 'string', minLength: 1, maxLength: 200 };
  return {
    title: (await ctx.ask({ name: 'title', prompt: `Title, instead of ${title}?`, schema: text })) as string,
    version: (await ctx.ask({ name: 'version', prompt: `Version, instead of ${version}?`, schema: text })) as string,
  };
}

function composeNotes(state: State): string {
  const { proposed, sections, credits } = notesOf(state);
  const { title, version } = (state.outputs['edit'] as Heading | undefined) ?? proposed;
  return `${[`# ${title} ${version}`, ...sections, credits].join('\n\n')}\n`;
}

/** Says to the world that the notes are out. A step: finer than a node, with a key of its own. */
function publish(ctx: NodeContext): Promise<unknown> {
  const { input, outputs } = ctx.state as State;
  const { ledger, out } = input;
  const output = { out, sha256: (outputs['write'] as FileOutput).sha256 };
  // Its input is what the step depends on: a fork in which that is the same replays it, another does it.
  const reconcile = (key: string): Promise<Reconciliation> => findInLedger(ledger, key);
  return ctx.step('publish', { effect: 'external', input: output, reconcile }, async ({ idempotencyKey }) => {
    await writeLedger(ledger, { key: idempotencyKey, effect: 'publish', output });
    return output;
  });
}

export const releaseNotes = new AgentGraph(
  { input: inputSchema },
  { id: 'release-notes', reducers: { 'scratch.notes': 'merge' }, checkpointPolicy: 'every_node' },
)
  .addNode('repository', ({ input }) => findRepository(input), { effectClass: 'read' })
  .addNode('tag', lastTag)
  .addNode('commits', readCommits)
  .addNode('group', ({ state }) => groupCommits(parseLog((state.outputs['commits'] as ShellOutput).stdout)))
  .addNode('draft', draft)
  .addNode('sections', ({ state }) => outcome({ scratch: { notes: { sections: state.outputs['draft'] } } }))
  .addNode('heading', ({ state }) => {
    const title = basename(state.outputs.repository ?? '');
    const version = proposeVersion(sinceOf(state), state.outputs.group ?? []);
    const credits = thankAuthors((state.outputs['commits'] as ShellOutput).stdout);
    return outcome({ scratch: { notes: { proposed: { title, version }, credits } } });
  })
  .addNode('approve', approve, { join: 'all' })
  .addNode('edit', askHeading, { effectClass: 'human' })
  .addNode('compose', ({ state }) => composeNotes(state as State))
  .addNode(
    'write',
    fileNode<State>({
      action: 'write',
      path: ({ input }) => input.out,
      content: ({ outputs }) => outputs['compose'] as string,
    }),
    { outputAs: 'notes' },
  )
  .addNode('record', publish, { effectClass: 'read', outputAs: 'record' })
  .addEdge(START, 'repository')
  .addConditionalEdge('repository', ({ input }) => (input.since === undefined ? 'tag' : 'commits'), ['tag', 'commits'])
  .addEdge('tag', 'commits')
  .addEdge('commits', 'group')
  .addEdge('group', 'draft')
  .addEdge('group', 'heading')
  .addEdge('draft', 'sections')
  .addEdge('sections', 'approve')
  .addEdge('heading', 'approve')
  .addConditionalEdge('approve', ({ outputs }) => String(outputs['approve']) as 'approve', {
    approve: 'compose',
    edit: 'edit',
    stop: END,
  })
  .addEdge('edit', 'compose')
  .addEdge('compose', 'write')
  .addEdge('write', 'record')
  .addEdge('record', END);

export const graph = releaseNotes.compile();
