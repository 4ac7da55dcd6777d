//! A flame graph as SVG.

use std::fmt::Write;

use crate::report::page::escaped;
use plimsoll_diagnose::snapshot::FlameNode;
use plimsoll_memory::bytes::ByteSize;

/// Dimensions in pixels: the width, the height of a call, and the room above the calls.
const WIDTH: f64 = 1200.0;
const ROW: f64 = 19.0;
const HEAD: f64 = 46.0;

/// The narrowest call that is drawn, in pixels.
const NARROWEST: f64 = 0.4;

const STYLE: &str = "\
svg{background:#fbfbfa;font:12px ui-monospace,Menlo,Consolas,monospace}\
.title{font:600 16px system-ui,sans-serif;fill:#1c1f23}.note{font:13px system-ui,sans-serif;fill:#5d656e}\
g{cursor:pointer}g:hover rect{stroke:#1c1f23;stroke-width:1}rect{stroke:#fbfbfa;stroke-width:.6}\
g text{fill:#1c1f23;pointer-events:none}\
@media (prefers-color-scheme:dark){svg{background:#14171b}.title{fill:#e8eaed}.note{fill:#9aa4af}rect{stroke:#14171b}\
g:hover rect{stroke:#fff}}";

/// A click widens a call to the whole drawing; a click on the lowest call shows everything again.
const SCRIPT: &str = "\
(()=>{const all=[...document.querySelectorAll('g')];const W=1200;\
const show=(x0,w0)=>{for(const g of all){const x=+g.dataset.x,w=+g.dataset.w,r=g.querySelector('rect'),t=g.querySelector('text');\
const a=Math.max(0,(x-x0)/w0),b=Math.min(1,(x+w-x0)/w0);const out=b-a<1e-7;g.style.display=out?'none':'';if(out)continue;\
r.setAttribute('x',a*W);r.setAttribute('width',(b-a)*W);t.setAttribute('x',a*W+4);\
const n=Math.floor(((b-a)*W-8)/7.3),s=g.dataset.name;t.textContent=n<3?'':s.length>n?s.slice(0,n-1)+'\u{2026}':s;}};\
for(const g of all)g.addEventListener('click',()=>show(+g.dataset.x,+g.dataset.w));})();";

/// Draws the tree of calls as a flame graph: a call is as wide as the bytes allocated in it and below, with the
/// outermost at the bottom. `title` says what it shows. The SVG is self-contained; a click on a call widens it.
pub fn flame_graph(root: &FlameNode, title: &str) -> String {
    let depth = depth(root);
    let height = HEAD + ROW * depth as f64 + 10.0;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">\
         <title>{title}</title><style>{STYLE}</style>\
         <text class=\"title\" x=\"10\" y=\"22\">{title}</text>\
         <text class=\"note\" x=\"10\" y=\"39\">{} in {} allocations; the width of a call is what was allocated in it \
         and below</text>",
        root.bytes,
        root.count,
        title = escaped(title),
    );
    call(&mut out, root, 0.0, 1.0, height - 10.0 - ROW, root.bytes);
    let _ = writeln!(out, "<script><![CDATA[{SCRIPT}]]></script></svg>");
    out
}

fn depth(node: &FlameNode) -> usize {
    1 + node.children.iter().map(depth).max().unwrap_or(0)
}

/// Draws a call that begins at `x` (as a share of the width), and its callees above it.
fn call(out: &mut String, node: &FlameNode, x: f64, share: f64, y: f64, total: ByteSize) {
    let width = share * WIDTH;
    if width < NARROWEST {
        return;
    }
    let room = ((width - 8.0) / 7.3).max(0.0) as usize;
    let label = match node.name.chars().count() {
        _ if room < 3 => String::new(),
        count if count > room => node.name.chars().take(room - 1).chain(['…']).collect(),
        _ => node.name.clone(),
    };
    let percent = 100.0 * node.bytes.bytes() as f64 / total.bytes().max(1) as f64;
    let name = escaped(&node.name);
    let _ = writeln!(
        out,
        "<g data-x=\"{x:.7}\" data-w=\"{share:.7}\" data-name=\"{name}\"><title>{name}: {} ({percent:.1} %), {} allocations\
         </title><rect x=\"{:.2}\" y=\"{y}\" width=\"{width:.2}\" height=\"{ROW}\" rx=\"2\" fill=\"{}\"/>\
         <text x=\"{:.2}\" y=\"{}\">{}</text></g>",
        node.bytes,
        node.count,
        x * WIDTH,
        colour(&node.name),
        x * WIDTH + 4.0,
        y + 13.5,
        escaped(&label)
    );
    let mut at = x;
    for child in &node.children {
        let part = share * child.bytes.bytes() as f64 / node.bytes.bytes().max(1) as f64;
        call(out, child, at, part, y - ROW, total);
        at += part;
    }
}

/// A warm colour, always the same for a name.
fn colour(name: &str) -> String {
    let hash = name.bytes().fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    let (hue, light) = (14 + hash % 36, 62 + (hash >> 8) % 12);
    format!("hsl({hue},86%,{light}%)")
}
