//! Reads a supply chain from a scenario's `[model]`.

use paceline_kernel::Time;
use paceline_scenario::{ScenarioError, Section};

use super::{Stage, SupplyChain};

/// The greatest value of each time: sums of times stay far below the largest time.
const LONGEST: Time = Time::secs(366 * 24 * 3600);
const STAGES_MAX: usize = 100;
const LPS_MAX: u32 = 1 << 22;
const STOCK_MAX: u32 = 1_000_000;

impl SupplyChain {
    /// Reads the keys `products` (100), `between_demands` of a product, `warm_up` ("0s"), and tables
    /// `stages`, the one that customers come to first: `name`, `base_stock`, `lead_time`, `order_delay`
    /// ("1h"). Defaults are in brackets. The key `kind` is left to the caller.
    pub fn from_section(section: &mut Section) -> Result<Self, ScenarioError> {
        let between_demands = section.required("between_demands")?;
        let between_demands = checked(section, "between_demands", between_demands, Time::nanos(1))?;
        let warm_up = section.or("warm_up", Time::ZERO)?;
        let stages = read_stages(section)?;
        let most = LPS_MAX / stages.len() as u32;
        let allowed = format!("a whole number from 1 to {most}");
        let products =
            section.or_where("products", 100, |products| (1..=most).contains(&products), allowed)?;
        Ok(Self { stages, products, between_demands, warm_up })
    }
}

fn read_stages(section: &mut Section) -> Result<Vec<Stage>, ScenarioError> {
    let tables = section.tables("stages")?;
    if !(1..=STAGES_MAX).contains(&tables.len()) {
        let allowed = format!("from 1 to {STAGES_MAX} tables [[model.stages]]");
        return Err(section.refuse("stages", format!("a chain of {} stages", tables.len()), allowed));
    }
    let mut stages: Vec<Stage> = Vec::new();
    for mut table in tables {
        let name = table.required::<String>("name")?;
        if name.is_empty()
            || name.contains([',', '"', '\n', '\r'])
            || stages.iter().any(|other| other.name == name)
        {
            let allowed = "a name that no other stage has, without commas and quotation marks";
            return Err(table.refuse("name", format!("the name {name:?}"), allowed));
        }
        let base_stock = table.required("base_stock")?;
        if base_stock > STOCK_MAX {
            let allowed = format!("a whole number from 0 to {STOCK_MAX}");
            return Err(table.refuse("base_stock", format!("`base_stock` is {base_stock}"), allowed));
        }
        let lead_time = table.required("lead_time")?;
        let lead_time = checked(&table, "lead_time", lead_time, Time::ZERO)?;
        let order_delay = table.or("order_delay", Time::secs(3600))?;
        let order_delay = checked(&table, "order_delay", order_delay, Time::ZERO)?;
        table.finish()?;
        stages.push(Stage { name, base_stock, lead_time, order_delay });
    }
    Ok(stages)
}

fn checked(section: &Section, key: &str, value: Time, least: Time) -> Result<Time, ScenarioError> {
    if (least..=LONGEST).contains(&value) {
        return Ok(value);
    }
    Err(section.refuse(key, format!("`{key}` is {value}"), format!("a time from {least} to {LONGEST}")))
}
