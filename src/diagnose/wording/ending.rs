//! Reasons for a kill other than memory, found on the lines around it.

use super::super::window::Lines;
use super::regex;

/// How many lines before a kill, and how many after it, may give the reason.
const BEFORE: usize = 40;
const BEHIND: usize = 40;

/// The reason, other than memory, for the kill on line `at`, if a nearby line gives one.
pub(super) fn near(lines: &Lines, at: usize) -> Option<&'static str> {
    let around = lines[at.saturating_sub(BEFORE)..lines.len().min(at + BEHIND)].iter();
    around.map(|line| line.text.as_str()).find_map(reason)
}

fn reason(text: &str) -> Option<&'static str> {
    let reasons = [
        (
            regex!(
                r"(?i)\bspot\b[^\n]{0,60}\b(?:interrupt|reclaim|terminat|evict|preempt)|\binterruption notice\b|\b(?:instance|node|vm|job|pod|machine|workload)\b[^\n]{0,40}\bpreempted\b|\bpreempted by (?:the )?(?:scheduler|a higher|job|pod)|\bnode (?:\S+ )?(?:is )?being drained|\bdraining node\b|\bscaling (?:down|in)\b|\bscale[- ](?:down|in)\b[^\n]{0,40}\b(?:instance|node|worker|replica|pod)"
            ),
            "the machine was taken back, or the work preempted",
        ),
        (
            regex!(
                r"(?:^|[$#%>+] )(?:sudo )?(?:(?:docker|podman|nerdctl|docker[ -]compose) (?:compose )?(?:stop|kill|rm -f|down|restart)\b|kubectl (?:delete|drain|rollout|scale)\b|(?:kill -(?:9|KILL|SIGKILL)|pkill|killall|systemctl (?:stop|restart|kill))\b)|\bCOMMAND=\S*/(?:kill -(?:9|KILL|SIGKILL)|pkill|killall|systemctl (?:stop|restart|kill))\b|\bcontainer (?:kill|stop) \S+ \(|\bstopped: \S+ \(terminated by SIG\w+\)|\brequested_stop=true\b|^Gracefully [Ss]topping|^\s*Container \S+  ?(?:Stopping|Stopped)$|(?i)\b(?:SIGKILL|kill(?:ed|ing)?)\b[^\n]{0,40}\b(?:by hand|manually)\b|\b(?:I|we|he|she|they|some(?:one|body)) (?:just |then )?(?:ran|did|used|typed|issued|executed|sent)\b[^\n]{0,30}\b(?:kill -(?:9|KILL|SIGKILL)|pkill|killall|SIGKILL)\b|\b(?:I|we)(?:'m|'ll| am| will)? (?:just |then |now |had to |have to |going to |gonna )*kill(?:ed|ing)? -(?:9|KILL|SIGKILL)\b|\bthat (?:kill )?was (?:me|my kill)\b|\b(?:stopped|killed|terminated|aborted|cancell?ed|interrupted) (?:manually )?by (?:the |an? )?(?:user|operator|admin\w*|request)\b"
            ),
            "someone stopped it",
        ),
        (
            regex!(
                r"(?i)\b(?:did not|didn't|failed to|would not) (?:exit|stop|terminate|shut ?down|respond)\b[^\n]{0,40}\b(?:within|in|after|to)\b|\bafter (?:an? |the |its )?(?:\d+ ?\w+ )?grace period\b|\bgrace(?:ful)?(?: \w+)? (?:period|shutdown|stop|termination)\b[^\n]{0,40}\b(?:expired|exceeded|timed out|elapsed|over)\b|State 'stop-\w+' timed out|\bwaiting for \S+ to (?:stop|exit|terminate)\b|\bkilling '[^']+' \(\d+\) with SIGKILL|Exit timeout\b|\b(?:received|caught|got)\b[^\n]{0,20}\bSIGTERM\b[^\n]{0,60}\b(?:shut|stop|exit|drain|grace|clean)\w*"
            ),
            "it was asked to end and took too long",
        ),
        (
            regex!(
                r"(?i)\b(?:liveness|startup)(?: probe)? (?:failed|errored)|\bfailed (?:liveness|startup)(?: probe)?\b|\bprobe failed\b[^\n]{0,60}\b(?:killed|restarted)|\bunhealthy\b[^\n]{0,40}\b(?:killing|killed|restart|stopping|stopped|replac|terminat)"
            ),
            "its health check failed",
        ),
        (
            regex!(
                r"(?i)\b(?:did not|didn't|does not|doesn't|has not|not) (?:answer|respond|repl(?:y|ied)|report|responding|heard from|sent a heartbeat)\w*\b[^\n]{0,60}\b(?:SIGKILL|kill(?:ing|ed)?)\b|\b(?:heartbeat|unresponsive|hung|stuck|frozen|deadlock\w*)\b[^\n]{0,60}\b(?:SIGKILL|kill(?:ing|ed)?)\b"
            ),
            "it no longer answered",
        ),
        (
            regex!(
                r"(?i)\bchaos[- ]?(?:mesh|monkey|toolkit|engine)\b|\bchaos\b[^\n]{0,40}\b\w*kill\w*|\b(?:inject(?:ing|ed)|simulat(?:ing|ed)|fault)\b[^\n]{0,30}\b(?:\w*kill\w*|faults?|chaos|crash(?:es)?)\b"
            ),
            "an experiment ended it",
        ),
        (
            regex!(
                r"(?i)\b(?:job|build|step|command|script|program|execution|test|suite|stage|pipeline|function)s?\b[^\n]{0,50}\b(?:timed out|reached (?:its|the) timeout|time limit|time[- ]?out (?:of|after|reached|exceeded|expired))|\b(?:hard )?time limit \([^)]*\) exceeded|\bexceeded (?:the |its )?(?:maximum )?(?:execution |run ?|wall[- ]?(?:clock )?)time\b|\bexecution took longer than\b|\btimeout: sending signal|(?:^|[$#%>+] )timeout (?:-s ?(?:9|KILL)|--signal=(?:9|KILL)|-k\b)|\bcontext deadline exceeded\b|\b[Cc]pu ?time (?:limit|quota)\b|\bCPU limit exceeded|\bBoot timeout\b|\bRLIMIT_CPU\b|\bSIGXCPU\b|\bWatchdog timeout\b|\b(?:worker|process|task|child|handler|replica|actor|request)\b[^\n]{0,40}\btimed out\b[^\n]{0,60}\b(?:SIGKILL|SIGABRT|SIGTERM|kill(?:ing|ed)?)\b"
            ),
            "a time limit ended it",
        ),
        (
            regex!(
                r"(?i)\b(?:operation|job|build|run|pipeline|workflow|deployment) (?:was |has been |is being |got )?cancell?ed\b|\bcancell?ing since\b|\bcancell?ation (?:requested|received)"
            ),
            "it was cancelled",
        ),
    ];
    reasons.into_iter().find(|(says, _)| says.is_match(text)).map(|(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ends_processes_is_known_by_its_words() {
        for text in [
            "Your Spot Task was interrupted.",
            "instance gke-pool-7 was preempted",
            "$ docker stop -t 5 web",
            "ignore that one, I ran `kill -9 $(pgrep node)` in the other terminal to restart it by hand",
            "heads-up: I'm going to kill -9 the old consumer, it ignores SIGTERM",
            "yes, that was my kill",
            "03:24 stuck in D state, sending SIGKILL to it by hand: `sudo kill -9 31822`",
            "2023-06-20T10:11:07.120 container kill 4f21 (image=web:1, name=web, signal=9)",
            "10:11:07 build2 sudo: admin : TTY=pts/3 ; PWD=/root ; USER=root ; COMMAND=/bin/kill -9 40771",
            "Container api did not exit within 10 seconds",
            "2024-03-01 10:00:10,000 WARN killing 'web' (811) with SIGKILL",
            "Received SIGTERM, shutting down",
            "Liveness probe failed: HTTP probe failed with statuscode: 503",
            "Container web failed liveness probe, will be restarted",
            "The job running on runner 3 has exceeded the maximum execution time of 360 minutes.",
            "Build timed out (after 30 minutes). Marking the build as failed.",
            "+ timeout -s KILL 60 ./bench",
            "##[error]The operation was canceled.",
            "ERROR: Job failed: execution took longer than 1h0m0s seconds",
            "chaos-mesh: injecting PodKill on web-1",
        ] {
            assert!(reason(text).is_some(), "{text}");
        }
        for text in ["exit code 137", "Sending process 12 closing signal SIGTERM", "request timed out", "Killed"] {
            assert_eq!(reason(text), None, "{text}");
        }
    }
}
