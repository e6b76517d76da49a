/**
 * Builds the model of a pipeline from a file's statements: flattens subgraphs, fills in defaults, derives classes, applies the stylesheet.
 */
import { habitOfAttribute, readElsewhere } from './other-engines.ts';
import { nearest } from '../../../graph/nearest.ts';
import type { DotFaults } from '../text/faults.ts';
import type { AttributeSyntax, DotSyntax, EdgeSyntax, Syntax } from '../text/print-dot.ts';
import { attributeRules, drawn, valueFault, type AttributePlace } from './attributes.ts';
import {
  Defaults,
  defaultsMax,
  Written,
  Attributes,
  findWritten,
  listOf,
  noValues,
  type AttributeValue,
  type Values,
  parseStylesheet,
  Styles,
} from './stylesheet.ts';
import { typeOfShape, type Param, type Pipeline, type PipelineEdge, type Stage } from './pipeline.ts';

/** Most characters in the values of all stages and edges together. A long default counts once for each of them. */
const valuesMax = 20_000_000;

/** Most characters in one list of classes. */
const classMax = 1_000;

interface Scope {
  readonly node: Defaults;
  readonly edge: Defaults;
  readonly classes: readonly string[];
  /** The class of the innermost subgraph that has one. */
  readonly group: string | undefined;
}

interface Draft {
  readonly id: string;
  at: number;
  readonly defaults: Values;
  readonly written: Written;
  classes: readonly string[];
  group: string | undefined;
  /** Whether a statement of its own names it. Otherwise only edges do. */
  isDeclared: boolean;
}

/** Builds the pipeline. Reports values of the wrong kind, unknown attributes, and attributes that have no effect where they stand. */
export function readPipeline(syntax: DotSyntax, faults: DotFaults): Pipeline {
  return new PipelineReader(faults).read(syntax);
}

class PipelineReader {
  readonly #faults: DotFaults;
  readonly #graph = new Written();
  readonly #drafts = new Map<string, Draft>();
  readonly #edges: PipelineEdge[] = [];
  /** Characters that defaults have added to stages and edges so far. */
  #size = 0;

  constructor(faults: DotFaults) {
    this.#faults = faults;
  }

  read({ name, statements }: DotSyntax): Pipeline {
    this.#block(statements, { node: new Defaults(), edge: new Defaults(), classes: [], group: undefined }, true);
    const attributes = new Attributes(this.#graph.all, 0);
    const sheet = attributes.find('model_stylesheet');
    const { rules, faults } = parseStylesheet(sheet?.value ?? '');
    for (const { message, offset } of faults)
      this.#faults.add(sheet?.valueAt ?? 0, {
        rule: 'stylesheet_syntax',
        message: `model_stylesheet, character ${offset + 1}: ${message}`,
        fix: 'write rules such as `.class { llm_model: name; }`',
      });
    const styles = new Styles(rules);
    return {
      name,
      attributes,
      stages: this.#stages(styles),
      edges: this.#edges,
      params: this.#params(attributes.find('params')),
    };
  }

  /** The stages. If none has the shape of a start or an exit, a stage with such a name is taken for it. */
  #stages(styles: Styles): ReadonlyMap<string, Stage> {
    const stages = new Map<string, Stage>();
    for (const [id, draft] of this.#drafts) stages.set(id, stageOf(draft, styles));
    for (const [type, names] of [
      ['start', ['start', 'Start']],
      ['exit', ['exit', 'end']],
    ] as const) {
      if ([...stages.values()].some((stage) => stage.type === type)) continue;
      for (const id of names) {
        const stage = stages.get(id);
        if (stage === undefined) continue;
        const { attributes } = stage;
        if (attributes.find('shape')?.valueAt === undefined && !attributes.has('type'))
          stages.set(id, { ...stage, type });
      }
    }
    return stages;
  }

  #block(statements: readonly Syntax[], scope: Scope, isOutermost: boolean): void {
    for (const statement of statements) {
      if (statement.kind === 'subgraph')
        this.#block(statement.statements, innerScope(scope, statement.statements), false);
      else if (statement.kind === 'edge') this.#edge(statement, scope);
      else if (statement.kind === 'node') {
        const draft = this.#draft(statement.id, statement.at, scope);
        if (!draft.isDeclared) draft.at = statement.at;
        draft.isDeclared = true;
        draft.written.add(this.#valid('node', statement.attributes));
      } else if (statement.of === 'graph') {
        if (isOutermost) this.#graph.add(this.#valid('graph', statement.attributes));
      } else this.#defaults(statement.of, statement.attributes, scope);
    }
  }

  #defaults(of: 'node' | 'edge', attributes: readonly AttributeSyntax[], scope: Scope): void {
    for (const attribute of this.#valid(of, attributes))
      if (!scope[of].set(attribute))
        this.#faults.add(attribute.at, {
          rule: 'DOT1',
          message: `more than ${defaultsMax} different attributes as defaults`,
          fix: 'set them where they are meant',
        });
  }

  /** A stage is created where it is first named, with the defaults that hold there. */
  #draft(id: string, at: number, { node, classes, group }: Scope): Draft {
    const known = this.#drafts.get(id);
    const draft = known ?? {
      id,
      at,
      defaults: this.#counted(node, at),
      written: new Written(),
      classes,
      group,
      isDeclared: false,
    };
    if (known === undefined) this.#drafts.set(id, draft);
    if (draft.classes !== classes) draft.classes = [...new Set([...draft.classes, ...classes])];
    draft.group ??= group;
    return draft;
  }

  /** The defaults for one stage or edge more. None, when there are too many letters in all of them. */
  #counted(scope: Defaults, at: number): Values {
    const defaults = scope.take();
    if (defaults.size === 0 || this.#size > valuesMax) return noValues;
    for (const { value } of defaults.values()) this.#size += value.length;
    if (this.#size > valuesMax)
      this.#faults.add(at, {
        rule: 'DOT1',
        message: `with all defaults written out, the file is larger than ${valuesMax} characters`,
        fix: 'set long values where they are meant, not as defaults',
      });
    return defaults;
  }

  #edge({ ends, attributes, at }: EdgeSyntax, scope: Scope): void {
    const own = new Attributes(this.#valid('edge', attributes), at, noValues, this.#counted(scope.edge, at));
    let from: string | undefined;
    for (const to of ends) {
      this.#draft(to.id, to.at, scope);
      if (from !== undefined) this.#edges.push({ index: this.#edges.length, from, to: to.id, attributes: own, at });
      from = to.id;
    }
  }

  /** The attributes that can be read, each under its usual name: mostly the list itself. Reports the others. */
  #valid(place: AttributePlace, attributes: readonly AttributeSyntax[]): readonly AttributeSyntax[] {
    let valid: AttributeSyntax[] | undefined;
    let index = 0;
    for (const attribute of attributes) {
      const found = this.#validOne(place, attribute);
      if (found !== attribute) valid ??= attributes.slice(0, index);
      if (found !== undefined) valid?.push(found);
      index += 1;
    }
    return valid ?? attributes;
  }

  /** The attribute under its usual name. Undefined if its value cannot be read. */
  #validOne(place: AttributePlace, attribute: AttributeSyntax): AttributeSyntax | undefined {
    const { key, value, at, valueAt } = attribute;
    const rule = attributeRules[place].get(key);
    const known = habitOfAttribute(key);
    if (rule === undefined && !drawn.has(key))
      this.#faults.add(at, {
        rule: 'unknown_attribute',
        severity: 'warning',
        message: `there is no ${place} attribute ${key}${known === undefined ? '' : `; ${readElsewhere(known)}`}`,
        fix: known === undefined ? guess(key, place) : `write ${known.write}`,
      });
    const isLong = key === 'class' && value.length > classMax;
    const fault = isLong ? `has over ${classMax} characters` : rule && valueFault(rule, value);
    if (fault !== undefined) {
      this.#refuseValue(key, value, fault, valueAt);
      return undefined;
    }
    return rule?.sameAs === undefined ? attribute : { ...attribute, key: rule.sameAs };
  }

  /** Reports a value that cannot be read. It is ignored, so the default holds. */
  #refuseValue(key: string, value: string, fault: string, at: number): void {
    const isFidelity = key.endsWith('fidelity');
    this.#faults.add(at, {
      rule: isFidelity ? 'fidelity_valid' : 'attribute_value',
      ...(isFidelity && { severity: 'warning' }),
      message: `${key} ${fault}; it is ${JSON.stringify(value.slice(0, 60))}`,
      fix: isFidelity ? 'correct it: until then the default holds' : 'correct it',
    });
  }

  /** Parses the parameters, such as `params="task, target=./out"`. */
  #params(attribute: AttributeValue | undefined): readonly Param[] {
    if (attribute === undefined) return [];
    const params = new Map<string, Param>();
    for (const piece of attribute.value.split(',')) {
      const [, name, , text] = /^\s*([a-z][a-z0-9_]*)\s*(=\s*([^]*?)\s*)?$/.exec(piece) ?? [];
      if (name === undefined || name === 'goal' || params.has(name))
        this.#faults.add(attribute.valueAt ?? 0, {
          rule: 'attribute_value',
          message: `params: ${JSON.stringify(piece.trim())} declares no new parameter`,
          fix: 'write names in small letters, separated by commas: `task, target=./out`; goal is always one',
        });
      else params.set(name, { name, default: text });
    }
    return [...params.values()];
  }
}

function guess(key: string, place: AttributePlace): string {
  const near = nearest(key, [...attributeRules[place].keys()]);
  return near === undefined ? 'take it out, or leave it to a handler of your own' : `did you mean ${near}?`;
}

/** The scope inside a subgraph. Its label is a class of the stages within. */
function innerScope(outer: Scope, statements: readonly Syntax[]): Scope {
  let label = '';
  for (const statement of statements)
    if (statement.kind === 'defaults' && statement.of === 'graph')
      label = statement.attributes.findLast(({ key }) => key === 'label')?.value ?? label;
  const derived = label
    .toLowerCase()
    .replaceAll(/\s/g, '-')
    .replaceAll(/[^a-z0-9-]/g, '');
  return {
    node: new Defaults(outer.node.take()),
    edge: new Defaults(outer.edge.take()),
    classes: derived === '' || outer.classes.includes(derived) ? outer.classes : [...outer.classes, derived],
    group: derived === '' ? outer.group : derived,
  };
}

function stageOf({ id, at, defaults, written, classes, group, isDeclared }: Draft, styles: Styles): Stage {
  const named = listOf(findWritten(written.all, 'class') ?? defaults.get('class'));
  const all = named.length === 0 ? classes : classes.length === 0 ? named : [...classes, ...named];
  const shape = (findWritten(written.all, 'shape') ?? defaults.get('shape'))?.value ?? 'box';
  // The stage's own attributes win over the stylesheet, and the stylesheet over the defaults of `node [...]`.
  const attributes = new Attributes(written.all, at, styles.of({ id, shape, classes: all }), defaults);
  return {
    id,
    type: attributes.text('type') || (typeOfShape.get(shape) ?? 'codergen'),
    attributes,
    classes: all,
    group,
    isDeclared,
    at,
  };
}
