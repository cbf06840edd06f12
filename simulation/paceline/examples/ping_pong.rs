//! Two processes that send each other a message: the small model that `docs/coming-from-simgrid.md` shows in
//! C++ as well.
use paceline::processes::prelude::*;

async fn pinger(cx: Process<f64>) {
    cx.send("ping", cx.now().as_secs_f64(), 1.0).await.expect("the ponger receives");
    let sent = cx.receive("pong").await.expect("the ponger sends");
    println!("[{}] the large message took {:.6} s", cx.now(), cx.now().as_secs_f64() - sent);
}

async fn ponger(cx: Process<f64>) {
    let sent = cx.receive("ping").await.expect("the pinger sends");
    println!("[{}] the small message took {:.6} s", cx.now(), cx.now().as_secs_f64() - sent);
    cx.send("pong", cx.now().as_secs_f64(), 1e9).await.expect("the pinger receives");
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = r#"<platform version="4.1">
        <zone id="world" routing="Full">
            <host id="left" speed="1Gf"/>
            <host id="right" speed="1Gf"/>
            <link id="cable" bandwidth="125MBps" latency="50us"/>
            <route src="left" dst="right"><link_ctn id="cable"/></route>
        </zone>
    </platform>"#;
    let platform = read("two.xml", text, &mut |_| Err("there are no other files".into()))?;
    let mut simulation = Simulation::on_platform(&platform, FlowModel::LV08);
    simulation.spawn("pinger", HostId(0), pinger);
    simulation.spawn("ponger", HostId(1), ponger);
    let report = simulation.run()?;
    println!("the simulation ends at {}", report.end_time);
    Ok(())
}
