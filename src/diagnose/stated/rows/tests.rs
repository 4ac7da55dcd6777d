//! Rows that rise, and rows that do not.

use super::*;

fn rising(text: &str) -> Option<(String, String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let found = Columns::of(&lines).series(0, 3, |values| values.windows(2).all(|two| two[1] > two[0]))?;
    Some((found.first, found.last, found.readings))
}

#[test]
fn what_rises_from_row_to_row_is_found_wherever_it_stands() {
    for (text, first, last) in [
        ("ps -o rss=\n09:10 164340\n09:20 166734\n09:30 168360", "164340", "168360"),
        ("|Jobs|RSS (KB)|live|\n|--|--|--|\n|0|141,208|402|\n|10|233,940|402|\n|20|329,116|402|", "141,208", "329,116"),
        (
            "   used (Mb) gc trigger  (Mb)\nVcells 10596964 80.9 17851013 136.2\n   used  (Mb) gc trigger  (Mb)\nVcells 20597188 157.2 32251842 246.1\n   used  (Mb) gc trigger  (Mb)\nVcells 30597190 233.5 38809874 296.1",
            "80.9",
            "233.5",
        ),
        ("a 61Mi\nx\na 248Mi\ny\na 431Mi", "61Mi", "431Mi"),
        (
            "{\"n\":500,\"rss\":98664448}\n{\"n\":900,\"rss\":121503744}\n{\"n\":1700,\"rss\":143392768}",
            "98664448",
            "143392768",
        ),
        (
            "\"Time\",\"resident_memory_bytes\"\n\"08:00\",803209216\n\"09:00\",1190428672\n\"10:00\",1571049472",
            "803209216",
            "1571049472",
        ),
        ("free heap=214,688\nfree heap=203,940\nfree heap=193,204", "214,688", "193,204"),
        ("- at first: 640 MB\n- after 1 hour: 1.2 GB\n- 2 hours: 1.7 GB\n- lunch, 4 h: 2.9 GB", "640 MB", "2.9 GB"),
        ("  0: == 58.11 MB\n  1: === 79.30 MB\n  2: ==== 88.02 MB", "58.11 MB", "88.02 MB"),
    ] {
        let found = rising(text).map(|(first, last, _)| (first, last));
        assert_eq!(found, Some((first.to_owned(), last.to_owned())), "{text}");
    }
}

#[test]
fn what_rises_evenly_in_time_needs_nobody_who_says_so() {
    let found = |text: &str| {
        let lines: Vec<&str> = text.lines().collect();
        Columns::of(&lines).by_time().map(|found| (found.first, found.last))
    };
    for (text, first, last) in [
        (
            "Mon MEMORY\n  a-1 4m 74Mi\nTue a-1 4m 131Mi\nWed a-1 5m 190Mi\nThu a-1 4m 246Mi\nFri a-1 4m 305Mi",
            "131Mi",
            "305Mi",
        ),
        (
            "after 1k req { rss: '92 MB' }\nafter 5k req { rss: '148 MB' }\nafter 9k req { rss: '221 MB' }\nafter 20k req { rss: '361 MB' }",
            "92 MB",
            "361 MB",
        ),
        (
            "ps -o pid,rss,cmd -p 4\n08:00\n   4  38220    idled\n09:00\n   4  71904    idled\n10:00\n   4  105688    idled\n11:00\n   4  139320    idled",
            "38220",
            "139320",
        ),
        (
            "$ while sleep 1; do cat /proc/7708/statm; done\n25653 24889 1660 1 0 23531 0\n37945 37181 1660 1 0 35823 0\n50237 49473 1660 1 0 48115 0\n62529 61765 1660 1 0 60407 0\n74821 74057 1660 1 0 72699 0",
            "24889",
            "74057",
        ),
        (
            "top -b -p 7\n17 08:00    7 www    20   0 1483740  451740 41212 S   5.3   2.8     1:46.11 api\n17 08:30    7 www    20   0 1521984  589984 41239 S   6.4   3.0     3:27.93 api\n17 09:00    7 www    20   0 1560040  728040 41212 S   5.6   3.2     4:30.19 api\n17 09:30    7 www    20   0 1598463  866463 41233 S   4.1   3.5     6:18.87 api\n17 10:00    7 www    20   0 1637317  1005317 41234 S   5.3   3.7     8:53.43 api",
            "451740",
            "1005317",
        ),
        (
            "query=avg:docker.mem.rss{a:b,c:d}\n\"a:b,c:d\"\n[1699000000000.0,456391680.0]\n[1699001200000.0,582499132.3]\n[1699002400000.0,708741230.2]\n[1699003600000.0,835215033.2]\n[1699004800000.0,960607060.1]",
            "456391680.0",
            "960607060.1",
        ),
        (
            "[13:02:48] Top 1 stacks with outstanding allocations:\n 9839616 bytes in 9609 allocations from stack\n[13:12:48] Top 1 stacks with outstanding allocations:\n 19678208 bytes in 19217 allocations from stack\n[13:22:48] Top 1 stacks with outstanding allocations:\n 29504512 bytes in 28813 allocations from stack\n[13:32:48] Top 1 stacks with outstanding allocations:\n 39303168 bytes in 38382 allocations from stack",
            "9839616 bytes",
            "39303168 bytes",
        ),
        (
            "                     09:00     12:00     15:00     18:00\nWorking Set (MB)       204       489       770      1047",
            "204",
            "1047",
        ),
        (
            "I (302114) app: reconnect #1 free heap 198,344 min 181,020\nI (602230) app: reconnect #2 free heap 188,212 min 177,116\nI (902351) app: reconnect #3 free heap 178,080 min 172,984\nI (1202466) app: reconnect #4 free heap 167,948 min 168,852\nI (1502580) app: reconnect #5 free heap 157,816 min 164,720",
            "198,344",
            "157,816",
        ),
        (
            "t     PM(MB) Handles\n07:30    104     512\n08:00    257     513\n08:30    411     512\n09:00    566     514",
            "104",
            "566",
        ),
        (
            "GPU memory, 0 requests - 4410 MiB\nafter 1 - 4702\nafter 5 - 5866\nafter 10 - 7318\nafter 20 - 10226",
            "4702",
            "10226",
        ),
        (
            "request batch 1\nrss: 212.0 MB\nrequest batch 2\nrss: 223.8 MB\nrequest batch 3\nrss: 235.5 MB\nrequest batch 4\nrss: 247.1 MB\nrequest batch 5\nrss: 258.0 MB\nrequest batch 6\nrss: 269.8 MB",
            "212.0 MB",
            "269.8 MB",
        ),
        (
            "timestamp,gpu,vram_used\n1755600000,0,20111\n1755600000,1,20110\n1755600300,0,22924\n1755600300,1,20108\n1755600600,0,25735\n1755600600,1,20110\n1755600900,0,28541\n1755600900,1,20108\n1755601200,0,31356\n1755601200,1,20110",
            "20111",
            "31356",
        ),
        (
            "# dcgmi dmon\n#Entity   GPUTL    FBUSD    POWER\nID        %        MB       W\nGPU 4     65       31202    304.7\nGPU 4     62       36613    303.3\nGPU 4     63       42026    301.4\nGPU 4     61       47439    307.6\nGPU 4     65       52850    303.1",
            "31202",
            "52850",
        ),
        (
            "elapsed_s;Rss_kB;Swap_kB\n0;65120;0\n60;83812;0\n120;83612;0\n180;105273;0\n240;126145;0\n300;126100;0\n360;149750;0\n420;169043;0",
            "65120",
            "169043",
        ),
        (
            "print(i, p.memory_info().rss)\n0 71.4 MB\n250 133.9 MB\n500 196.2 MB\n750 258.8 MB\n1000 321.1 MB\n1250 383.5 MB",
            "71.4 MB",
            "383.5 MB",
        ),
        (
            "bytes_in_use\nepoch 0: 3221225472\nepoch 1: 3758096384\nepoch 2: 4294967296\nepoch 3: 4831838208\nepoch 4: 5368709120",
            "3221225472",
            "5368709120",
        ),
        (
            "{~T[14:00:00], binary: 41_220_112}\n{~T[14:10:00], binary: 122_840_900}\n{~T[14:20:00], binary: 204_118_336}\n{~T[14:30:00], binary: 285_790_220}",
            "41_220_112",
            "285_790_220",
        ),
        (
            "[System.Runtime]      t0   t20   t40   t60   t80\n Gen 2 GC Count        3    3     4     3     4\n Working Set (MB)      171  240   308   377   444",
            "171",
            "444",
        ),
        (
            "                 day 1     day 2     day 3     day 4     day 5\nRSS (pmap)      902 MB   1180 MB   1466 MB   1749 MB   2031 MB",
            "902 MB",
            "2031 MB",
        ),
        (
            "ps_rss.rrd AVERAGE\n1700020800: 7.5497472000e+07\n1700035200: 9.3676364800e+07\n1700049600: 1.1216983040e+08\n1700064000: 1.3004070400e+08\n1700078400: 1.4863247360e+08",
            "7.5497472000e+07",
            "1.4863247360e+08",
        ),
        (
            "pmap -x 12\n09:00\ntotal kB  312880  140212\n09:20\ntotal kB  345648  172936\n09:40\ntotal kB  378416  205668\n10:00\ntotal kB  411184  238400\n10:20\ntotal kB  443952  271132\n10:40\ntotal kB  476720  303864",
            "312880",
            "476720",
        ),
        (
            "open and close the dialog\n x10  JSHeapUsedSize  14.8 MB\n x20  JSHeapUsedSize  17.3 MB\n x30  JSHeapUsedSize  19.8 MB\n x40  JSHeapUsedSize  22.2 MB\n x50  JSHeapUsedSize  24.7 MB\n x60  JSHeapUsedSize  27.2 MB",
            "14.8 MB",
            "27.2 MB",
        ),
        (
            "$ while :; do npu-smi info -t usages; sleep 3600; done\nHBM Usage Rate(%)   : 30\nHBM Usage Rate(%)   : 39\nHBM Usage Rate(%)   : 48\nHBM Usage Rate(%)   : 57\nHBM Usage Rate(%)   : 66",
            "30",
            "66",
        ),
        (
            "$ jmap -histo:live 31   Mon\n   1:     812044     64963520  a.Node\n== Tue 06:00 (sessions 409)\n   1:    2401332    192106560  a.Node\n== Wed 06:00 (sessions 415)\n   1:    3990118    319209440  a.Node\n== Thu 06:00 (sessions 410)\n   1:    5579004    446320320  a.Node",
            "64963520",
            "446320320",
        ),
        (
            "time    connections   RSS\n07:00   2,010   0.31 GB\n07:30   2,011   0.62 GB\n08:00   2,009   1.09 GB\n08:30   2,010   1.41 GB\n09:00   2,010   1.70 GB",
            "0.31 GB",
            "1.70 GB",
        ),
    ] {
        assert_eq!(found(text), Some((first.to_owned(), last.to_owned())), "{text}");
    }
    for (text, first, last) in [
        (
            "At             Id WS(M) PM(M) Handles\n11.12 06:00  6012   310   288     902\n11.12 10:00  6012   361   340    1188\n11.12 14:00  6012   415   391    1467\n11.12 18:00  6012   466   444    1751\n11.12 22:00  6012   518   495    2039\n12.12 02:00  6012   570   548    2322",
            "310",
            "570",
        ),
        (
            "               total        used        free      shared  buff/cache   available\nSa 06:00       32051        9120       11204         412       11727       22110\nSa 12:00       32051       11388        9011         410       11652       19844\nSa 18:00       32051       13702        6640         415       11709       17520\nSo 00:00       32051       15961        4398         411       11692       15270\nSo 06:00       32051       18199        2133         412       11719       13021",
            "9120",
            "18199",
        ),
        (
            "once a day at 04:30, the backup job is the same each night:\n2025-08-01 Slab:  812044 kB\n2025-08-02 Slab:  994110 kB\n2025-08-03 Slab: 1171288 kB\n2025-08-04 Slab: 1357402 kB\n2025-08-05 Slab: 1539950 kB",
            "812044 kB",
            "1539950 kB",
        ),
        (
            "# memory.stat, the newest line on top\ntime=18:00 anon=1884160000 file=212992000\ntime=17:00 anon=1671048960 file=214040576\ntime=16:00 anon=1460944384 file=209715200\ntime=15:00 anon=1244552448 file=213909504\ntime=14:00 anon=1032354816 file=211812352",
            "1032354816",
            "1884160000",
        ),
        (
            "1000 identical requests per block\n\nblock  managed heap (MB)  private bytes (MB)  handles\n1      48                 611                 402\n2      47                 798                 402\n3      48                 984                 403\n4      48                 1171                402\n5      47                 1358                402\n6      48                 1544                403",
            "611",
            "1544",
        ),
        (
            "erlang:memory(binary), length(erlang:processes())\n{{2025,3,2},  201440312,  410220488}\n{{2025,3,3},  688120944,  411008120}\n{{2025,3,4}, 1176300208,  410884624}\n{{2025,3,5}, 1662881072,  410402904}\n{{2025,3,6}, 2150440656,  411220160}",
            "201440312",
            "2150440656",
        ),
    ] {
        assert_eq!(found(text), Some((first.to_owned(), last.to_owned())), "{text}");
    }
    for text in [
        // Keys of a store, in the row and below it, and bytes that were sent.
        "redis\n00:00  used_memory:104112880    db0:keys=500000,expires=0\n00:05  used_memory:207880112    db0:keys=1000000,expires=0\n00:10  used_memory:311904448    db0:keys=1500000,expires=0\n00:15  used_memory:415702016    db0:keys=2000000,expires=0\n00:20  used_memory:519604880    db0:keys=2500000,expires=0",
        "== 08:00\nused_memory_human:1.02G\ndb0:keys=1204118,expires=0\n== 10:00\nused_memory_human:2.03G\ndb0:keys=2411902,expires=0\n== 12:00\nused_memory_human:3.05G\ndb0:keys=3622204,expires=0\n== 14:00\nused_memory_human:4.06G\ndb0:keys=4830011,expires=0\n== 16:00\nused_memory_human:5.08G\ndb0:keys=6041220,expires=0",
        "{\"uptime_s\":3600,\"bytes_sent\":9120448112,\"rss_mb\":188.2}\n{\"uptime_s\":7200,\"bytes_sent\":18204112004,\"rss_mb\":187.9}\n{\"uptime_s\":10800,\"bytes_sent\":27301204112,\"rss_mb\":188.4}\n{\"uptime_s\":14400,\"bytes_sent\":36402880448,\"rss_mb\":188.0}\n{\"uptime_s\":18000,\"bytes_sent\":45510112004,\"rss_mb\":188.1}",
        // What another process of the table passed through the network, a site's traffic, and keys that are imported.
        "NAME       MEM USAGE / LIMIT     NET I/O           PIDS\n(10:00)\ncaddy      41.2MiB / 1.9GiB      1.12GB / 4.01GB   11\nghost      188MiB / 1.9GiB       210MB / 118MB     23\n(14:00)\ncaddy      42.0MiB / 1.9GiB      1.44GB / 5.20GB   11\nghost      185MiB / 1.9GiB       288MB / 160MB     23\n(18:00)\ncaddy      41.5MiB / 1.9GiB      1.81GB / 6.61GB   11\nghost      191MiB / 1.9GiB       371MB / 204MB     23\n(22:00)\ncaddy      41.8MiB / 1.9GiB      2.10GB / 7.80GB   11\nghost      187MiB / 1.9GiB       440MB / 247MB     23\n(02:00)\ncaddy      41.1MiB / 1.9GiB      2.19GB / 8.11GB   11\nghost      189MiB / 1.9GiB       528MB / 255MB     23",
        "Date;Visits;Traffic (GB);RAM used (MB)\n01.09.2025;10.221;118,2;2.104\n02.09.2025;11.940;130,4;2.098\n03.09.2025;13.102;144,9;2.111\n04.09.2025;14.870;160,1;2.095\n05.09.2025;16.333;177,8;2.107",
        "used_memory_human\nshard    keys         used_memory\n 1/24       412,110     188.2M\n 2/24       824,902     371.9M\n 3/24     1,237,008     556.0M\n 4/24     1,650,114     739.7M\n 5/24     2,474,880     980.1M",
        "memory\nepoch 1 4.1G\nepoch 2 6.0G\nepoch 3 6.1G\nepoch 4 6.1G\nepoch 5 6.1G",
        "memory\nbatch 8 4.1G\nbatch 16 8.0G\nbatch 32 16.1G\nbatch 64 32.3G\nbatch 128 64G",
        "free -m\n           total     used     free  buff/cache   available\n02:00 Mem: 31905     4221    25570         430       27120\n03:00 Mem: 31905     4201    22407        3593       27130\n04:00 Mem: 31905     4211    18630        7370       27140\n05:00 Mem: 31905     4221    13864       12136       27150\n06:00 Mem: 31905     4201     9579       16421       27160",
        "t,rx_bytes,mem_used_pct\n1730000000,81200112,38.1\n1730000060,121200112,38.1\n1730000120,161200112,38.1\n1730000180,201200112,38.1\n1730000240,241200112,38.1",
        "time    connections   RSS\n07:00   2,010   0.31 GB\n07:30   5,980   0.62 GB\n08:00   12,040   1.09 GB\n08:30   19,900   1.71 GB\n09:00   26,110   2.20 GB",
        "workers used MB\n1 71.4 MB\n2 133.9 MB\n3 196.2 MB\n4 258.8 MB\n5 321.1 MB\n6 383.5 MB",
        "[System.Runtime]      t0   t20   t40   t60   t80\n Free memory (MB)      171  240   308   377   444",
        "revenue\nMon 100,000\nTue 200,000\nWed 300,000\nThu 420,000\nFri 530,000",
    ] {
        assert_eq!(found(text), None, "{text}");
    }
}

#[test]
fn steps_times_and_counts_are_no_memory() {
    for text in [
        "rss\nstep 1\nstep 2\nstep 3",
        "mem free 100 MB\nmem free 200 MB\nmem free 300 MB",
        "batch size 8\n8 100 MB\n16 200 MB\n32 300 MB",
        "request 50000\nrequest 70000\nrequest 95000",
        "|Step|RSS (KB)|\n|--|--|\n|1|100,000|\n|2|100,000|\n|3|100,000|",
    ] {
        assert!(rising(text).is_none(), "{text}");
    }
}

#[test]
fn exports_say_above_or_in_each_row_what_their_values_are_of() {
    for (text, first, last) in [
        (
            "servers.a.process.rss,1721570400,1721577600,1800|2312889469.7,None,2910692810.5,3230135003.4,3512299516.5,3811563100.8",
            "2312889469.7",
            "3811563100.8",
        ),
        (
            "item 'proc.mem[tomcat,rss]'\nitemid;clock;value\n48211;1700006400;764300500\n48211;1700010000;880599706\n48211;1700013601;998697406\n48211;1700017200;1118011550\n48211;1700020800;1230796522",
            "764300500",
            "1230796522",
        ),
        (
            ",result,table,_time,_value,_field\n,,0,2025-03-01T04:00:00Z,1289334784,memory_rss\n,,0,2025-03-01T08:00:00Z,1457201408,memory_rss\n,,0,2025-03-01T12:00:00Z,1631289856,memory_rss\n,,0,2025-03-01T16:00:00Z,1796154112,memory_rss\n,,0,2025-03-01T20:00:00Z,1973912576,memory_rss",
            "1289334784",
            "1973912576",
        ),
        (
            "$ date; kubectl -n checkout top pod --no-headers\n2025-02-11T08:00:02Z\npricing-4kx2p   112m   611Mi\npricing-z8vqn   108m   604Mi\n2025-02-11T09:00:03Z\npricing-4kx2p   119m   728Mi\npricing-z8vqn   104m   719Mi\n2025-02-11T10:00:05Z\npricing-4kx2p   121m   841Mi\npricing-z8vqn   117m   830Mi\n2025-02-11T11:00:05Z\npricing-4kx2p   121m   951Mi\npricing-z8vqn   117m   940Mi\n2025-02-11T12:00:05Z\npricing-4kx2p   121m   1061Mi\npricing-z8vqn   117m   1050Mi",
            "611Mi",
            "1061Mi",
        ),
    ] {
        let lines: Vec<&str> = text.lines().collect();
        let columns = Columns::of(&lines);
        let found = columns.by_time().or_else(|| columns.rising()).map(|found| (found.first, found.last));
        assert_eq!(found, Some((first.to_owned(), last.to_owned())), "{text}");
    }
}

#[test]
fn more_work_a_cache_and_a_list_of_names_are_no_growth() {
    for text in [
        "   100,000  frame     13.7 MiB  peak     122 MiB\n 1,000,000  frame    137.3 MiB  peak     371 MiB\n 5,000,000  frame    686.6 MiB  peak    1460 MiB",
        "-----------memory----------\n   swpd         free         buff        cache\n      0        21840          310        38911\n      0        19412          310        41339\n      0        16980          311        43770\n      0        14557          311        46191\n      0        12139          312        48610",
        "       8.0 MB  (2048, 2048)  layers.0.attn.k_proj.weight\n      32.0 MB  (8192, 2048)  layers.0.attn.qkv_extra.weight\n      43.0 MB  (2048, 11008)  layers.0.mlp.down_proj.weight\n     256.0 MB  (65536, 2048)  pos_table.weight",
        "memory\n 6120044.batch   align_s1   4.11G\n 6120388.batch   align_m1  11.80G\n 6121007.batch   align_l1  29.31G\n".replace("memory", "memory  JobName  MaxRSS").as_str(),
        "nodes   50,000,000   rss 1.1 GB\nnodes  100,000,000   rss 1.9 GB\nnodes  150,000,000   rss 2.7 GB\nnodes  200,000,000   rss 3.5 GB",
        "Name             Memory   CPU\nData Decoder     14 MB    0.0%\nExtensions       71 MB    0.1%\nmail (2 tabs)    118 MB   0.2%\nmaps             402 MB   0.9%\nparent process   702 MB   0.5%",
        " 41,208K: phone (pid 17)\n 55,120K: services (pid 20)\n 298,115K: ui (pid 16)\n 402,771K: system (pid 14)",
        "Scene\tMeshes MB\tTotal MB\n00_Splash\t2\t121\n01_Menu\t14\t544\n02_Village\t240\t1904\n03_Mines\t301\t2210\n04_Harbour\t388\t2711",
        "[OK] exported 1000 rows, memory peak 14.0 MB\n[OK] exported 5000 rows, memory peak 22.0 MB\n[OK] exported 10000 rows, memory peak 32.0 MB\n[OK] exported 50000 rows, memory peak 112.0 MB",
        "time,websocket clients,process RSS\n07:00,1020,214 MiB\n08:00,2110,437 MiB\n09:00,3960,823 MiB\n10:00,6080,1240 MiB\n11:00,8310,1690 MiB",
        "sar -r\n03:00:01 AM kbmemused 5120118\n06:00:01 AM kbmemused 5133004\n09:00:01 AM kbmemused 11320118\n12:00:01 PM kbmemused 13411020\n06:00:01 PM kbmemused 9540448\n09:00:01 PM kbmemused 5140220",
        "\"Time\",\"node_filesystem_used_bytes /var\",\"process_resident_memory_bytes\"\n\"2025-05-01 00:00\",\"212 GiB\",\"3.31 GiB\"\n\"2025-05-02 00:00\",\"298 GiB\",\"3.28 GiB\"\n\"2025-05-03 00:00\",\"385 GiB\",\"3.33 GiB\"\n\"2025-05-04 00:00\",\"471 GiB\",\"3.30 GiB\"\n\"2025-05-05 00:00\",\"557 GiB\",\"3.29 GiB\"\n\"2025-05-06 00:00\",\"643 GiB\",\"3.29 GiB\"",
        "Dumping heap profile to h.0001.heap (16 MB allocated cumulatively, 0 MB currently in use)\nDumping heap profile to h.0002.heap (32 MB allocated cumulatively, 0 MB currently in use)\nDumping heap profile to h.0003.heap (48 MB allocated cumulatively, 0 MB currently in use)\nDumping heap profile to h.0004.heap (64 MB allocated cumulatively, 0 MB currently in use)\nDumping heap profile to h.0005.heap (80 MB allocated cumulatively, 0 MB currently in use)",
        "$ jstat -gcutil -t 71 500\nTimestamp S0 S1 E O M CCS YGC YGCT FGC FGCT GCT\n 1.2 0.00 20.62 64.97 0.00 40.18 2.98 3 0.002 0 0.000 0.002\n 1.7 0.00 20.62 0.00 0.22 40.18 2.98 5 0.003 0 0.000 0.003\n 2.2 20.62 0.00 34.22 0.48 40.18 2.98 6 0.004 0 0.000 0.004\n 2.7 20.62 0.00 0.00 0.71 40.18 2.98 8 0.004 0 0.000 0.004\n 3.2 0.00 20.62 32.76 0.99 40.18 2.98 9 0.005 0 0.000 0.005\n 3.7 0.00 20.62 30.11 1.24 40.18 2.98 9 0.005 0 0.000 0.005",
        "[I] [TRT] Total Host Persistent Memory: 512704 bytes\n[I] [TRT] Total Device Persistent Memory: 1204224 bytes\n[I] [TRT] Max Scratch Memory: 8388608 bytes",
        "GC(884) Pause Young (Mixed) 3410M->1288M(6144M) 45.3ms\nGC(885) Pause Young (Normal) 3188M->1447M(6144M) 30.6ms\nGC(886) Pause Young (Normal) 3347M->1808M(6144M) 28.5ms\nGC(887) Pause Young (Normal) 3508M->2182M(6144M) 27.2ms\nGC(888) Pause Young (Normal) 3682M->2560M(6144M) 28.8ms\nGC(889) Pause Young (Mixed) 4412M->1570M(6144M) 31.5ms",
        "| batch size | img/s | ms/step | peak allocated (GiB) | peak / image (MiB) |\n|---:|---:|---:|---:|---:|\n| 8 | 402.1 | 19.9 | 4.12 | 366.1 |\n| 16 | 711.9 | 22.5 | 6.98 | 366.1 |\n| 32 | 1033.4 | 31.0 | 12.70 | 366.1 |\n| 64 | 1188.0 | 53.9 | 24.14 | 366.1 |",
        "08h used_memory:1073112008 maxmemory_policy:allkeys-lru evicted_keys:0\n09h used_memory:2480118400 maxmemory_policy:allkeys-lru evicted_keys:0\n10h used_memory:3811204128 maxmemory_policy:allkeys-lru evicted_keys:0\n11h used_memory:4294901120 maxmemory_policy:allkeys-lru evicted_keys:88120\n12h used_memory:4294960040 maxmemory_policy:allkeys-lru evicted_keys:411208\n13h used_memory:4294933208 maxmemory_policy:allkeys-lru evicted_keys:740022\n14h used_memory:4294950112 maxmemory_policy:allkeys-lru evicted_keys:1068804",
        "go_memstats_mallocs_total 9.1442901e+07\n\ngo_memstats_mallocs_total 1.0065604e+08\n\ngo_memstats_mallocs_total 1.0987221e+08\n\ngo_memstats_mallocs_total 1.1908670e+08\n\ngo_memstats_mallocs_total 1.2830134e+08",
        "uptime=10s   rss=122MB  entries=1201\nuptime=60s   rss=388MB  entries=31990\nuptime=120s  rss=611MB  entries=60112\nuptime=180s  rss=702MB  entries=72040\nuptime=240s  rss=730MB  entries=75000 (max)\nuptime=600s  rss=731MB  entries=75000 (max)\nuptime=1200s rss=732MB  entries=75000 (max)",
    ] {
        let lines: Vec<&str> = text.lines().collect();
        let columns = Columns::of(&lines);
        assert!(columns.by_time().is_none() && columns.rising().is_none(), "{text}");
    }
}
