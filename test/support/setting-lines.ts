/**
 * Lines of a settings file, the variables that systemd's EnvironmentFile= reads there, and the
 * lines that it ignores. A judge asks systemd itself.
 */
export const settingLines: [text: string, variables: Record<string, string>, ignored?: number[]][] =
  [
    ['A=1\nB=2\n', { A: '1', B: '2' }],
    ['A=1', { A: '1' }],
    ['A=1\r\nB=2\r\n', { A: '1', B: '2' }],
    ['A=\n', { A: '' }],
    ['A=1\nA=2\n', { A: '2' }],
    ['# A=1\n;B=2\n  # C=3\n#\nD=4\n', { D: '4' }],
    ['A=https://a.example.org # comment\n', { A: 'https://a.example.org # comment' }],
    ['A=https://a.example.org/#b\n', { A: 'https://a.example.org/#b' }],
    ['A=#\nB=;\n', { A: '#', B: ';' }],
    ['A=x=y=z\n', { A: 'x=y=z' }],
    ['  A  =  two  words  \n', { A: 'two  words' }],
    ["A='one # two'\n", { A: 'one # two' }],
    ['A="one # two"\n', { A: 'one # two' }],
    ["A='$B \\n \"'\n", { A: '$B \\n "' }],
    ['A="\\"B\\" \\$C \\\\ \\n"\n', { A: '"B" $C \\ \\n' }],
    ['A="one" \'two\'three "four"\n', { A: 'onetwothree "four"' }],
    ['A="one\ntwo"\nB=3\n', { A: 'one\ntwo', B: '3' }],
    ['A="one\\\ntwo"\n', { A: 'onetwo' }],
    ['A=one\\\ntwo\nB=3\n', { A: 'onetwo', B: '3' }],
    ['A=a\\b\\\\c\\ \n', { A: 'ab\\c ' }],
    ['A=$B `C`\n', { A: '$B `C`' }],
    ["A=it's\n", { A: "it's" }],
    ["A='open\nB=2\n", { A: 'open\nB=2\n' }],
    ['A=end\\', { A: 'end' }],
    ['A=ü 😀\n', { A: 'ü 😀' }],
    ['export A=1\nB=2\n', { B: '2' }, [1]],
    ['\n\n  A-B=1\nB=2\n', { B: '2' }, [3]],
    ['1A=1\nnothing\n=1\nB=2\n', { B: '2' }, [1, 2, 3]],
  ]
