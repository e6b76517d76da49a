import { describe, expect, it } from 'vitest';
import { drive, finish } from '../../../test/plan/script.ts';

describe('order of visits', () => {
  const ordered = (driver: ReturnType<typeof drive>, writer: string, node: string): boolean =>
    driver.plan.isOrdered({ node: writer, epoch: driver.tree.nodes[writer]?.epoch ?? 0 }, driver.number(node));

  it('E5 a visit comes before those it led to over edges that fired', () => {
    const driver = drive(['START > a b', 'a > c', 'b > c d', 'c > e'], { b: ['d'] });
    finish(driver, ['e']);
    expect(ordered(driver, 'a', 'e')).toBe(true);
    expect(ordered(driver, 'c', 'e')).toBe(true);
    expect(ordered(driver, 'b', 'e')).toBe(false);
    expect(ordered(driver, 'd', 'e')).toBe(false);
    expect(ordered(driver, 'b', 'd')).toBe(true);
    expect(ordered(driver, 'e', 'e')).toBe(true);
  });

  it('E5 an edge that a `first` join did not take orders nothing', () => {
    const driver = drive(['START > a b', 'a > c', 'b > c', 'c > END'], {}, { c: { first: 1 } });
    finish(driver, ['c', 'b']);
    driver.settle(driver.number('b'));
    expect(ordered(driver, 'a', 'c')).toBe(true);
    expect(ordered(driver, 'b', 'c')).toBe(false);
  });

  it('E5 an earlier round of a common loop comes before a later one', () => {
    const driver = drive(['START > s', 's > w1 w2 x', 'w1 > s', 'w2 > s', 'x > END'], { s: ['w1 w2', 'w1 w2', 'x'] });
    finish(driver, ['w1', 'w2']);
    driver.settle(driver.number('w1'));
    expect(ordered(driver, 'w1', 'w2')).toBe(false);
    driver.settle(driver.number('w2'));
    driver.settle(driver.number('s'));
    expect(ordered(driver, 'w1', 'w2')).toBe(true);
    driver.settle(driver.number('w1'));
    expect(ordered(driver, 'w1', 'w2')).toBe(false);
  });

  it('E5 to its outside a loop is one node', () => {
    const driver = drive(['START > p q', 'p > a', 'q > z', 'a > b c', 'b > a', 'c > a x', 'x > END'], {
      c: ['a', 'x'],
      b: ['-', '-'],
      a: ['b c', 'c'],
    });
    finish(driver, ['x']);
    expect(ordered(driver, 'b', 'x')).toBe(true);
    expect(ordered(driver, 'p', 'x')).toBe(true);
    expect(ordered(driver, 'q', 'x')).toBe(false);
    expect(ordered(driver, 'z', 'x')).toBe(false);
  });

  it('E5 what led into a loop comes before all its rounds, and before each head it started', () => {
    const driver = drive(['START > p q', 'p > a', 'q > b', 'a > b m', 'b > a', 'm > b'], { b: ['a', '-'] });
    finish(driver, ['m', 'b']);
    expect(ordered(driver, 'p', 'm')).toBe(true);
    expect(ordered(driver, 'q', 'm')).toBe(false);
    driver.settle(driver.number('m'));
    finish(driver, ['a']);
    expect(driver.open.has(driver.number('a'))).toBe(true);
    expect(ordered(driver, 'q', 'a')).toBe(true);
    expect(ordered(driver, 'm', 'a')).toBe(true);
  });

  it('E5 a write of a node the graph no longer knows comes before everything', () => {
    const driver = drive(['START > a']);
    expect(driver.plan.isOrdered({ node: 'gone', epoch: 0 }, driver.number('a'))).toBe(true);
  });
});
