//! SIGKILL without a sender, in the words of the programs that saw it.

use super::Means::Killed;
use super::{Wording, row};

pub(super) static ROWS: &[Wording] = &[
    row(
        Killed,
        "",
        "A child process ended with the exit status of SIGKILL.",
        r"(?i)(?:error )?exit(?:ed)?[ _-]?(?:status|code)?[\x22']?(?: is|:|=|\s)*\s*\(?(?:137|-9)\)?(?:$|[\s,;.)}\]\x22'(])|(?:terminated|failed|finished|stopped|died|ended|exited|returned|completed)(?: with)? (?:an? )?(?:non-?zero )?(?:error |return )?(?:exit )?(?:code|status)?:?\s*\(?(?:137|-9)\)?(?:$|[\s,;.)}\]\x22'(])|\bsignal: (?:SIGKILL|killed)\b|\bsignal[\x22']?\s*[:=]\s*[\x22']?(?:SIGKILL|9)\b|(?:failed|exited|ended|died|crashed|terminated|killed) (?:with|by|on|due to) (?:the )?signal:? [\x22'(]?(?:SIGKILL|KILL)\b|(?:failed|exited|ended|crashed|aborted) (?:with|by|on|due to|from|after) [\x22'(]?SIGKILL\b|\bsigno\s*[:=]\s*(?:SIGKILL|9\b)|code: null and signal: SIGKILL|errored out with signal SIGKILL|(?:^|\s)npm ERR! (?:code|errno) 137",
        "Next.js build worker exited with code: null and signal: SIGKILL",
        "wait(2): 128 + 9",
    ),
    row(
        Killed,
        "",
        "A worker was killed with SIGKILL.",
        r"(?i)died, killed by signal 9|SIGKILL\(-9\)|Negsignal\.SIGKILL|exited with 'signal 9|exited prematurely: signal 9|Worker \(pid:\d+\) was sent SIGKILL|Received [\x22'`]?killed[\x22'`]? signal|Killed by external signal|\b(?:died|dies|crashed|aborted|failed) (?:of|from|on|by|with|due to) (?:the )?signal:? ?9\b|PANIC: [^\n]*SIGKILL|plugin encountered an error: signal: killed|process has terminated: signal: killed|\b(?:process|worker|shard|child|task|container|rank|replica|server|kernel|engine)\b[^\n]{0,40}\b(?:signall?ed|terminated|killed|exited|died|ended|shut ?down|stopped)\b[^\n]{0,20}\bsignal:? ?9\b",
        "DAMN ! worker 3 (pid: 8123) died, killed by signal 9 :( trying respawn ...",
        "uwsgi, celery, gunicorn, loky",
    ),
];
