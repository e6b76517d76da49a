/** Whose runs those are of a program that names nobody. */
export const defaultTenant = 'default';
