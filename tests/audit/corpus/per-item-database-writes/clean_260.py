import sqlalchemy

from .tables import Parameter, Tag


class Tracking:
    def __init__(self, session_maker):
        self.session_maker = session_maker

    def log_all(self, run, parameters, tags):
        with self.session_maker() as session:
            for parameter in parameters:
                session.add(Parameter(run=run, key=parameter.key))
            session.add_all(Tag(run=run, key=tag.key) for tag in tags)
            session.commit()

    def log_one(self, run, parameter):
        with self.session_maker() as session:
            session.merge(Parameter(run=run, key=parameter.key))
            session.commit()


def keep(db, rows, calendar):
    db.execute(sqlalchemy.text("INSERT INTO rows VALUES (:a, :b)"), rows)
    for row in rows:
        calendar.merge(row)
        db.execute(sqlalchemy.text("SELECT a FROM rows WHERE b = :b"), row)
        calendar.commit()
