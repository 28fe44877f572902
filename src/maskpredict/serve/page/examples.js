// Something to begin with, for the languages we have a sentence in.

export const EXAMPLES = {
  de: "Die kleine Katze schläft heute im Garten, weil es regnet.",
  en: "The old gardener is looking for his key in front of the house.",
};
