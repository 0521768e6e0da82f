const fs = require('node:fs');

const greeting = `hello ${process.env.INPUT_WHO}`;
fs.appendFileSync(process.env.GITHUB_OUTPUT, `greeting=${greeting}\n`);
console.log(greeting);
