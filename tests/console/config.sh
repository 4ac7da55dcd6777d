git init --quiet
cat > plimsoll.toml <<'TOML'
[ceilings]
peak_rss = "2 GiB"

[ceilings.load]
peak_rss = "128 MiB"

[gate]
baseline = "git:main:baselines"
limits = { peak_rss = "5% | 4 MiB" }

[profile.ci.run]
repeet = 10
TOML
echo 'x = b"x" * (75 << 20)' > load.py
