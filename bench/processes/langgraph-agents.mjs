/**
 * The script of an agent as LangGraph.js plays it: `createReactAgent`, and `createAgent` of langchain, over its SQLite saver. Copied
 * beside its installed packages and imported from there.
 *
 * The saver is given a database of Node's own driver, which is ours too. Its own, better-sqlite3, would have to be compiled.
 */
import { DatabaseSync } from 'node:sqlite';
import { AIMessage } from '@langchain/core/messages';
import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { tool } from '@langchain/core/tools';
import { SqliteSaver } from '@langchain/langgraph-checkpoint-sqlite';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { createAgent } from 'langchain';

/** What the saver uses of better-sqlite3. */
class Database {
  #db;

  constructor(path) {
    this.#db = new DatabaseSync(path);
  }

  pragma(text) {
    this.#db.exec(`pragma ${text}`);
  }

  exec(sql) {
    this.#db.exec(sql);
  }

  prepare(sql) {
    const statement = this.#db.prepare(sql);
    const bound = (values) => values.map((value) => value ?? null);
    return {
      get: (...values) => statement.get(...bound(values)),
      all: (...values) => statement.all(...bound(values)),
      run: (...values) => statement.run(...bound(values)),
    };
  }

  transaction(work) {
    return (...given) => {
      this.#db.exec('begin');
      work(...given);
      this.#db.exec('commit');
    };
  }

  close() {
    this.#db.close();
  }
}

class ScriptedModel extends BaseChatModel {
  #said;
  #callOf;

  constructor(said, callOf) {
    super({});
    this.#said = said;
    this.#callOf = callOf;
  }

  _llmType() {
    return 'scripted';
  }

  bindTools() {
    return this;
  }

  _generate(messages) {
    const index = messages.filter((message) => message.getType() === 'ai').length;
    const { id, tool: name, input: args } = this.#callOf(index);
    const isLast = index === this.#said.length - 1;
    const text = this.#said[index];
    const message = new AIMessage({ content: text, tool_calls: isLast ? [] : [{ id, name, args, type: 'tool_call' }] });
    return Promise.resolve({ generations: [{ text, message }] });
  }
}

/**
 * Milliseconds of the whole conversation; each checkpoint is awaited.
 * @param kind - `createReactAgent` or `createAgent`
 * @param synchronous - SQLite's
 */
export async function timePeer(kind, path, synchronous, { said, given, callOf }) {
  const db = new Database(path);
  const checkpointer = new SqliteSaver(db);
  checkpointer.setup();
  db.pragma(`synchronous = ${synchronous}`);
  const model = new ScriptedModel(said, callOf);
  const schema = { type: 'object', required: ['index'], properties: { index: { type: 'integer' } } };
  const look = tool(({ index }) => given[index], { name: 'look', description: 'Looks.', schema });
  const agent =
    kind === 'createAgent'
      ? createAgent({ model, tools: [look], systemPrompt: 'Work.', checkpointer })
      : createReactAgent({ llm: model, tools: [look], prompt: 'Work.', checkpointer });
  const config = { configurable: { thread_id: '1' }, recursionLimit: 1_000_000, durability: 'sync' };
  const startMs = performance.now();
  const { messages } = await agent.invoke({ messages: [{ role: 'user', content: 'Go.' }] }, config);
  const took = performance.now() - startMs;
  db.close();
  if (messages.length !== said.length + given.length + 1) throw new Error(`it has ${messages.length} messages`);
  return took;
}
