//! Golf courses.

use std::sync::Arc;

use crate::command::{Command, Context, Decision, writes};
use crate::id::{Sequence, number_id};
use crate::rejection::{Fault, Rejection, TeeRejection};
use crate::table::Row;
use crate::text::check_name;
use crate::time::Zone;
use crate::working_set::WorkingSet;

number_id!(
    /// Number of a course.
    CourseId
);

/// A course. Start times of its slots are in its time zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    pub id: CourseId,
    pub name: Arc<str>,
    pub zone: Zone,
}

impl Row for Course {}

/// Creates a course without slots.
#[derive(Clone, Debug)]
pub struct CreateCourse {
    pub name: String,
    pub time_zone: Option<String>,
}

impl Command for CreateCourse {
    type Outcome = Course;
    const NAME: &'static str = "tee.course.create";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<Course> {
        let name = check_name("name", &self.name)?.into();
        let zone = Zone::parse(self.time_zone.as_deref().unwrap_or("Asia/Seoul"))
            .ok_or_else(|| Rejection::invalid("timeZone", Fault::UnknownTimeZone))?;
        let id = CourseId::new(rows.next_id(Sequence::Course)?).expect("sequence numbers are valid ids");
        let course = Course { id, name, zone };
        rows.tee.courses.insert(id, course.clone());
        Ok(course)
    }
}

/// Returns the course, or rejects an unknown one.
pub fn find(rows: &mut WorkingSet, id: CourseId) -> Decision<Course> {
    Ok(rows.tee.courses.get(&id)?.cloned().ok_or(TeeRejection::CourseNotFound)?)
}
