/** What the models of the example pipelines answer, by what they are asked: the first draft is refused, the second one passes. */
import { createScriptedModels, type ScriptedModels } from '../../src/models/scripted.ts';
import { textOf } from '../../src/graph/contracts/model-messages.ts';

function answerTo(prompt: string): string {
  if (prompt.includes('Write the '))
    return prompt.includes('review: fail') ? 'A second draft, with dates.' : 'A first draft.';
  if (prompt.includes('Review the draft'))
    return prompt.includes('second draft')
      ? 'Well done.\n{"outcome": "success"}'
      : '{"outcome": "fail", "failure_reason": "there are no dates"}';
  if (prompt.includes('fast enough'))
    return 'It takes twice as long.\n{"outcome": "fail", "failure_reason": "too slow"}';
  return 'It is.\n{"outcome": "success"}';
}

export function createAnswers(): ScriptedModels {
  return createScriptedModels(({ messages }) => {
    const message = messages.at(-1);
    return answerTo(message === undefined || message.role === 'tool' ? '' : textOf(message.content));
  });
}
