import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["build/", "node_modules/"] },
  {
    files: ["tests/*.mjs"],
    extends: [tseslint.configs.recommended],
    rules: { eqeqeq: "error" },
  },
  {
    files: ["src/**/*.ts", "src/**/*.mts"],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: "src/tsconfig.json" } },
    rules: {
      eqeqeq: "error",
      "max-lines-per-function": ["error", 40],
      "@typescript-eslint/explicit-function-return-type": "error",
      // A number in a template text is intended.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // Index signatures are read with brackets.
      "@typescript-eslint/dot-notation": "off",
      // Used only where the line before has ensured that the value exists.
      "@typescript-eslint/no-non-null-assertion": "off",
    },
  },
);
