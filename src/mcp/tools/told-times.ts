/** Times as tools tell them (M6): seconds since 1970, and beside them ISO text under the same name with `Iso`. */

type Times<Name extends string> = Readonly<Record<Name, number>>;
type Told<Name extends string> = Readonly<Record<Name, number> & Record<`${Name}Iso`, string>>;

/** The data with these of its fields, which hold epoch ms, as tools tell them. */
export function tellTimes<Name extends string, Data extends Times<Name>>(
  data: Data,
  ...names: readonly Name[]
): Data & Told<Name> {
  const told = names.flatMap((name) => [
    [name, data[name] / 1000],
    [`${name}Iso`, new Date(data[name]).toISOString()],
  ]);
  return { ...data, ...(Object.fromEntries(told) as Told<Name>) };
}
