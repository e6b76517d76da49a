/** The agent as anyone writes it with the AI SDK: killed on the way, it begins anew, and pays twice. */
import { ToolLoopAgent } from 'ai';
import { instructions, model, prompt, tools } from './support.ts';

export async function answer(): Promise<string> {
  const agent = new ToolLoopAgent({ model, instructions, tools });
  const { text } = await agent.generate({ prompt });
  return text;
}
