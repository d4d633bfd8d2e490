import sqlalchemy

from .tables import Parameter, Tag


class Tracking:
    """Keeps what runs say, each thing in a session of its own."""

    def __init__(self, session_maker):
        self.session_maker = session_maker

    def log_parameter(self, run, parameter):
        with self.session_maker() as session:
            session.add(Parameter(run=run, key=parameter.key, value=parameter.value))
            session.commit()

    def set_tag(self, run, tag):
        with self.open_session() as session:
            session.merge(Tag(run=run, key=tag.key, value=tag.value))

    def log_all(self, run, parameters, tags):
        for parameter in parameters:
            self.log_parameter(run, parameter)  # expect: per-item-database-writes@note
        for tag in tags:
            self.set_tag(run, tag)  # expect: per-item-database-writes@note


def keep(db, rows):
    for row in rows:
        db.execute(sqlalchemy.text("INSERT INTO rows VALUES (:a, :b)"), row)  # expect: per-item-database-writes@note
    db.commit()
