/** The parser of DOT files: recursive descent over the subset in docs/spec/dot.md, lenient about common mistakes in real files. */
import type { DotFaults } from './faults.ts';
import { Scanner, type Word } from './scanner.ts';
import type { AttributeSyntax, DotSyntax, Syntax } from './print-dot.ts';

/** How deep subgraphs may nest. */
const depthMax = 100;

const plainName = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const keywords: ReadonlySet<string> = new Set(['strict', 'graph', 'digraph', 'node', 'edge', 'subgraph']);
const keyName = /^[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)*$/u;

/** Longest value, in characters, of which one text is shared by all that are written alike. Longer ones are seldom alike. */
const sharedMax = 64;

const none: readonly never[] = [];

/** Parses a file. Reports faults to `faults`, and returns the statements that can be read. Takes linear time and never throws. */
export function parseDot(text: string, faults: DotFaults): DotSyntax {
  return new DotParser(text, faults).file();
}

class DotParser {
  readonly #scanner: Scanner;
  readonly #faults: DotFaults;
  #word: Word;
  /** The word behind it, if it was looked at. */
  #ahead: Word | undefined;
  /** Offset at which the last word ended. */
  #behind = 0;
  /**
   * Names of nodes and of attributes that were checked, and short values. Most occur more than once. Names are checked only once, and each
   * text is in memory once for all places where it stands: that takes less memory, and a lookup in a map compares no letters.
   */
  readonly #knownEnds = new Map<string, string>();
  readonly #knownKeys = new Map<string, string>();
  readonly #knownValues = new Map<string, string>();

  constructor(text: string, faults: DotFaults) {
    this.#scanner = new Scanner(text, faults);
    this.#faults = faults;
    this.#word = this.#scanner.next();
  }

  file(): DotSyntax {
    const comments = this.#scanner.takeComments();
    this.#header();
    const name = this.#graphName();
    if (!this.#takeMark('{')) {
      this.#refuse('expected {', 'open the graph with {');
      return { name, comments, statements: [], closing: [] };
    }
    const { statements, closing } = this.#statements(0);
    const after = this.#scanner.takeComments();
    if (this.#word.kind !== 'end')
      this.#refuse(
        `expected the end of the file after the graph, found ${formatWord(this.#word)}`,
        'a file has one digraph',
      );
    return { name, comments, statements, closing: [...closing, ...after] };
  }

  #header(): void {
    const first = this.#word.text.toLowerCase();
    if (first === 'strict') {
      this.#refuse('a strict graph is not part of the language', 'take `strict` out');
      this.#advance();
    }
    const keyword = this.#word.text.toLowerCase();
    if (keyword === 'digraph') this.#advance();
    else if (keyword === 'graph') {
      this.#refuse('a graph without directions says no order', 'write `digraph`');
      this.#advance();
    } else this.#refuse(`expected digraph, found ${formatWord(this.#word)}`, 'begin the file with `digraph NAME {`');
  }

  #graphName(): string {
    const word = this.#word;
    if (word.kind !== 'name' && word.kind !== 'string') {
      this.#warn(word.at, 'the graph has no name: it is called pipeline', 'write `digraph NAME {`');
      return 'pipeline';
    }
    this.#advance();
    if (word.kind === 'name' && !plainName.test(word.text))
      this.#refuse(`${formatWord(word)} cannot name a graph`, 'use letters, digits and _', word.at);
    if (word.kind === 'string') {
      const fix = plainName.test(word.text) ? 'write it without quotes' : 'use letters, digits and _, without quotes';
      this.#warn(word.at, 'the name of the graph is quoted', fix);
    }
    return word.text === '' ? 'pipeline' : word.text;
  }

  /** Reads statements up to the closing brace, and past it. */
  #statements(depth: number): { readonly statements: readonly Syntax[]; readonly closing: readonly string[] } {
    const statements: Syntax[] = [];
    const begun = this.#word.at;
    for (;;) {
      const word = this.#word;
      if (word.kind === 'end') {
        this.#refuse('the graph is not closed', 'close it with }', begun);
        return { statements, closing: this.#scanner.takeComments() };
      }
      if (word.kind === 'mark' && word.text === '}') {
        const closing = this.#scanner.takeComments(word.at);
        this.#advance();
        return { statements, closing };
      }
      if (this.#takeMark(';')) continue;
      const statement = this.#statement(depth);
      if (statement === undefined) {
        this.#recover(word);
        continue;
      }
      this.#takeMark(';');
      const comments = this.#scanner.takeComments(this.#behind);
      // A subgraph's comments were taken where it was opened. Those taken here stand on the line where the statement ends.
      statements.push(
        comments.length === 0 ? statement : { ...statement, comments: [...statement.comments, ...comments] },
      );
    }
  }

  /** Reads one statement. Undefined means that it could not be read, which is reported. */
  #statement(depth: number): Syntax | undefined {
    const word = this.#word;
    if (word.kind === 'mark' && word.text === '{') {
      this.#warn(word.at, 'a block without a name', 'write `subgraph {`');
      return this.#subgraph(word.at, undefined, depth);
    }
    if (word.kind !== 'name' && word.kind !== 'string') {
      if (word.kind !== 'broken') this.#refuse(`expected a statement, found ${formatWord(word)}`, 'take it out');
      return undefined;
    }
    this.#advance();
    if (word.kind === 'name' && word.text === 'subgraph') {
      const id = this.#word.kind === 'name' || this.#word.kind === 'string' ? this.#word.text : undefined;
      if (id !== undefined) this.#advance();
      return this.#subgraph(word.at, id, depth);
    }
    if (
      word.kind === 'name' &&
      this.#isMark('[') &&
      (word.text === 'graph' || word.text === 'node' || word.text === 'edge')
    ) {
      const attributes = this.#attributeBlocks();
      return { kind: 'defaults', of: word.text, attributes, at: word.at, comments: none };
    }
    if (this.#isMark('=')) return this.#assignment(word);
    const id = this.#end(word);
    if (id === undefined) return undefined;
    if (this.#isMark('->')) return this.#edge(id, word.at);
    if (this.#isMark('--')) {
      this.#refuse('an edge without a direction', 'write ->');
      return undefined;
    }
    const attributes = this.#attributeBlocks();
    return { kind: 'node', id, attributes, at: word.at, comments: none };
  }

  #subgraph(at: number, id: string | undefined, depth: number): Syntax | undefined {
    if (!this.#takeMark('{')) {
      this.#refuse(`expected {, found ${formatWord(this.#word)}`, 'open the subgraph with {');
      return undefined;
    }
    const comments = this.#scanner.takeComments(this.#behind);
    if (depth >= depthMax) {
      this.#refuse(`subgraphs are nested deeper than ${depthMax}`, 'nest them less deep', at);
      this.#skipBlock();
      return { kind: 'subgraph', id, statements: [], closing: [], at, comments };
    }
    const block = this.#statements(depth + 1);
    if (this.#isMark('->')) {
      this.#refuse('an edge from a whole block is not part of the language', 'write an edge for each of its nodes');
      return undefined;
    }
    return { kind: 'subgraph', id, ...block, at, comments };
  }

  #assignment(key: Word): Syntax | undefined {
    const found = this.#attribute(key);
    if (found === undefined) return undefined;
    if (found.key.includes('.'))
      this.#warn(key.at, 'a name with a dot, outside of brackets', `write \`graph [${found.key}=…]\``);
    return { kind: 'defaults', of: 'graph', attributes: [found], at: key.at, comments: none };
  }

  #edge(first: string, at: number): Syntax | undefined {
    const ends = [{ id: first, at }];
    while (this.#takeMark('->')) {
      const word = this.#word;
      if (word.kind === 'mark' && word.text === '{') {
        this.#refuse('an edge to a whole block is not part of the language', 'write an edge for each of its nodes');
        return undefined;
      }
      if (word.kind !== 'name' && word.kind !== 'string') {
        this.#refuse(`expected the node that the edge leads to, found ${formatWord(word)}`, 'name a node after ->');
        return undefined;
      }
      this.#advance();
      const id = this.#end(word);
      if (id === undefined) return undefined;
      ends.push({ id, at: word.at });
    }
    const attributes = this.#attributeBlocks();
    return { kind: 'edge', ends: trimmed(ends), attributes, at, comments: none };
  }

  /** The node that a word names. Undefined if it can name none, which is reported. */
  #end(word: Word): string | undefined {
    const known = word.kind === 'name' ? this.#knownEnds.get(word.text) : undefined;
    if (known !== undefined) return known;
    if (keywords.has(word.text.toLowerCase())) {
      this.#refuse(
        `${formatWord(word)} is a word of the language and names no node`,
        'give the node another name',
        word.at,
      );
      return undefined;
    }
    if (plainName.test(word.text)) {
      if (word.kind === 'string') this.#warn(word.at, 'the name of a node is quoted', 'write it without quotes');
      this.#knownEnds.set(word.text, word.text);
      return word.text;
    }
    const [id, ...rest] = word.text.split(':');
    if (word.kind === 'name' && rest.length > 0)
      this.#refuse(`${formatWord(word)}: ports are not part of the language`, `write ${id ?? ''} alone`, word.at);
    else if (word.text.includes('--')) this.#refuse('an edge without a direction', 'write ->', word.at);
    else this.#refuse(`${formatWord(word)} cannot name a node`, 'use letters, digits and _, no digit first', word.at);
    return undefined;
  }

  #attributeBlocks(): readonly AttributeSyntax[] {
    if (!this.#isMark('[')) return none;
    const attributes: AttributeSyntax[] = [];
    for (let count = 0; this.#isMark('['); count += 1) {
      if (count > 0) this.#warn(this.#word.at, 'more than one block of attributes', 'write them into one');
      this.#advance();
      this.#attributeBlock(attributes);
    }
    return trimmed(attributes);
  }

  /** Reads attributes up to the closing bracket, and past it. */
  #attributeBlock(attributes: AttributeSyntax[]): void {
    const begun = this.#word.at;
    let isSeparated = true;
    let hasWarned = false;
    while (!this.#takeMark(']')) {
      const word = this.#word;
      const isOver = word.kind === 'end' || (word.kind === 'mark' && '{}'.includes(word.text));
      if (isOver || this.#beginsStatement(word)) {
        this.#refuse(
          `the attributes are not closed: expected ], found ${formatWord(word)}`,
          'close them with ]',
          begun,
        );
        return;
      }
      if (this.#takeMark(',')) isSeparated = true;
      else if (this.#takeMark(';')) {
        this.#warn(word.at, 'attributes are separated by a semicolon', 'write a comma');
        isSeparated = true;
      } else if (word.kind !== 'name' && word.kind !== 'string') {
        if (word.kind !== 'broken') this.#refuse(`expected an attribute, found ${formatWord(word)}`, 'write key=value');
        this.#skipAttribute();
      } else {
        if (!isSeparated && !hasWarned) {
          hasWarned = true;
          this.#warn(word.at, 'there is no comma between the attributes', 'put a comma before it');
        }
        this.#advance();
        const found = this.#attribute(word);
        if (found === undefined) this.#skipAttribute();
        else attributes.push(found);
        isSeparated = false;
      }
    }
  }

  /** Skips to a mark at which an unreadable attribute may end. */
  #skipAttribute(): void {
    while (this.#word.kind !== 'end' && !(this.#word.kind === 'mark' && '{}],;'.includes(this.#word.text)))
      this.#advance();
  }

  #attribute(key: Word): AttributeSyntax | undefined {
    const known = this.#knownKeys.get(key.text);
    const name = known ?? key.text;
    if (known === undefined && !keyName.test(name)) {
      this.#refuse(`${formatWord(key)} cannot name an attribute`, 'use letters, digits, _ and dots', key.at);
      if (this.#takeMark('=')) this.#value();
      return undefined;
    }
    if (known === undefined) this.#knownKeys.set(name, name);
    if (key.kind === 'string') this.#warn(key.at, 'the name of an attribute is quoted', 'write it without quotes');
    if (!this.#takeMark('=')) {
      this.#warn(key.at, `${name} has no value: it is taken as true`, `write ${name}=true`);
      return { key: name, value: 'true', at: key.at, valueAt: key.at };
    }
    const valueAt = this.#word.at;
    const value = this.#value();
    return value === undefined ? undefined : { key: name, value: this.#shared(value), at: key.at, valueAt };
  }

  /** The text that stands for all values written alike. */
  #shared(value: string): string {
    if (value.length > sharedMax) return value;
    const known = this.#knownValues.get(value);
    if (known === undefined) this.#knownValues.set(value, value);
    return known ?? value;
  }

  #value(): string | undefined {
    const word = this.#word;
    if (word.kind !== 'name' && word.kind !== 'string') {
      if (word.kind !== 'broken') this.#refuse(`expected a value, found ${formatWord(word)}`, 'write a value after =');
      return undefined;
    }
    this.#advance();
    if (word.kind === 'name') return word.text;
    let joined = word.text;
    while (this.#takeMark('+')) {
      if (this.#word.kind !== 'string') {
        this.#refuse(`expected a string after +, found ${formatWord(this.#word)}`, 'join strings only');
        break;
      }
      joined += this.#word.text;
      this.#advance();
    }
    return joined;
  }

  /** Skips from an unreadable statement to the next one. */
  #recover(begun: Word): void {
    if (this.#word === begun) this.#advance();
    for (;;) {
      const word = this.#word;
      if (word.kind === 'end' || (word.kind === 'mark' && '}'.includes(word.text))) return;
      if (this.#takeMark(';')) return;
      if (word.isOnNewLine && (word.kind === 'name' || word.kind === 'string' || word.text === '{')) return;
      this.#advance();
      if (word.kind === 'mark' && word.text === '{') this.#skipBlock();
    }
  }

  /** Skips past the brace that closes the block that is open. */
  #skipBlock(): void {
    for (let open = 1; open > 0 && this.#word.kind !== 'end'; this.#advance()) {
      if (this.#word.kind !== 'mark') continue;
      if (this.#word.text === '{') open += 1;
      if (this.#word.text === '}') open -= 1;
    }
  }

  #isMark(text: string): boolean {
    return this.#word.kind === 'mark' && this.#word.text === text;
  }

  #takeMark(text: string): boolean {
    if (!this.#isMark(text)) return false;
    this.#advance();
    return true;
  }

  #advance(): void {
    this.#behind = this.#word.end;
    this.#word = this.#ahead ?? this.#scanner.next();
    this.#ahead = undefined;
  }

  /** Whether the present word begins a line that reads as a statement. Then a bracket before it was not closed. */
  #beginsStatement({ kind, isOnNewLine }: Word): boolean {
    if (kind !== 'name' || !isOnNewLine) return false;
    this.#ahead ??= this.#scanner.next();
    return this.#ahead.kind === 'mark' && ['[', '->'].includes(this.#ahead.text);
  }

  #refuse(message: string, fix: string, at = this.#word.at): void {
    // The scanner has already reported a word that it could not read.
    if (this.#word.kind === 'broken' && at === this.#word.at) return;
    this.#faults.add(at, { rule: 'DOT1', message, fix, showsSource: true });
  }

  #warn(at: number, message: string, fix: string): void {
    this.#faults.add(at, { rule: 'DOT1', severity: 'warning', message, fix });
  }
}

/** The list without its room for growing, which is that of 16 more items: a parsed file stays in memory for a while. */
function trimmed<Item>(items: readonly Item[]): readonly Item[] {
  return items.slice();
}

function formatWord({ kind, text }: Word): string {
  if (kind === 'end') return text;
  const cut = text.length > 30 ? `${text.slice(0, 30)}…` : text;
  return kind === 'string' ? JSON.stringify(cut) : cut;
}
