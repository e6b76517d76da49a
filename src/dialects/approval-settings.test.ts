/** Settings of an approval that cannot be used are faults of the graph, each with its node. */
import { expect, test } from 'vitest';
import { END, START } from '../graph/graph.ts';
import { AgentGraph } from './code/agent-graph.ts';

const compiled = (approval: object) => () =>
  new AgentGraph({}, { id: 'g' })
    .addNode('send', () => 1, { approval: approval as never })
    .addEdge(START, 'send')
    .addEdge('send', END)
    .compile();

test.each([
  [{}, /it has no prompt/u],
  [{ prompt: '?', edit: 'to' }, /edit is no list of names/u],
  [{ prompt: '?', accepts: /ok/gu }, /accepts is no regular expression without the flags/u],
  [{ prompt: '?', deadlineMs: 0 }, /deadlineMs is no number over 0/u],
  [{ prompt: '?', deadlineMs: Infinity }, /deadlineMs is no number over 0/u],
  [{ prompt: '?', onDeadline: 'approve' }, /onDeadline has no effect without deadlineMs/u],
  [{ prompt: '?', deadlineMs: 1, onDeadline: 'wait' }, /onDeadline is not known/u],
  [{ prompt: '?', onRejected: 'wait' }, /onRejected is not known/u],
  [{ prompt: '?', audience: 'all' }, /audience is not known/u],
])('G14 an approval of %j is refused', (approval, reason) => {
  expect(compiled(approval)).toThrow(
    expect.objectContaining({ code: 'GRAPH_INVALID', message: expect.stringMatching(reason) as string }),
  );
});

test('G14 a deadline of a millisecond, with what follows it, is one', () => {
  expect(compiled({ prompt: '?', deadlineMs: 1, onDeadline: 'reject', audience: 'user' })).not.toThrow();
});
