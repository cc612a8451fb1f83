// The ES module. It shares the code of the CommonJS module, so that a program which loads both has
// each class only once.

export * from "./index.js";
