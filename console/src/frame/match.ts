// Finds what somebody means while they type: every word must occur; the start of a name counts more than its middle.

function score(word: string, text: string): number {
  const at = text.indexOf(word);
  if (at < 0) return -1;
  if (at === 0) return 3;
  return /[\s/._-]/.test(text[at - 1] ?? "") ? 2 : 1;
}

/** The items that match all words of the query, the best first; items of the same rank keep their order. */
export function rank<T>(query: string, items: readonly T[], text: (item: T) => string): T[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...items];
  const ranked: { item: T; score: number }[] = [];
  for (const item of items) {
    const scores = words.map((word) => score(word, text(item).toLowerCase()));
    if (scores.every((value) => value > 0)) ranked.push({ item, score: scores.reduce((a, b) => a + b, 0) });
  }
  return ranked.sort((a, b) => b.score - a.score).map((entry) => entry.item);
}
