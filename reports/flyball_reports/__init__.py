"""The parts that plans and audits share: report sections, tables, charts and pages, and a reader for specifications."""
