// Answers questions about a program in TypeScript as an editor does, by TypeScript's language service.
//
// Argument: the path of the program. Standard output: JSON with `mistakes`, the messages of the compiler by line,
// `completions`, the names that the language service offers at each comment `/* ▮ name */`, by the name in the comment,
// and `javascript`, the compiled program.
const fs = require("node:fs");
const path = require("node:path");
const ts = require("typescript");

const program = path.resolve(process.argv[2]);
const options = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    skipLibCheck: true,
    types: ["node"],
};
const host = {
    ...ts.sys,
    getCompilationSettings: () => options,
    getCurrentDirectory: () => path.dirname(program),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getScriptFileNames: () => [program],
    getScriptSnapshot: (name) => ts.ScriptSnapshot.fromString(fs.readFileSync(name, "utf8")),
    getScriptVersion: () => "1",
    useCaseSensitiveFileNames: () => true,
};
const service = ts.createLanguageService(host);
const text = fs.readFileSync(program, "utf8");

const mistakes = {};
for (const diagnostic of [...service.getSyntacticDiagnostics(program), ...service.getSemanticDiagnostics(program)]) {
    const line = text.slice(0, diagnostic.start).split("\n").length;
    (mistakes[line] ??= []).push(ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n"));
}
const completions = {};
for (const mark of text.matchAll(/\/\* ▮ (\S+) \*\//g)) {
    const offered = service.getCompletionsAtPosition(program, mark.index, {});
    completions[mark[1]] = (offered?.entries ?? []).map((entry) => entry.name).sort();
}
const javascript = service.getEmitOutput(program).outputFiles[0].text;
process.stdout.write(JSON.stringify({ mistakes, completions, javascript }));
