"""The script that Streamlit runs for every view."""

from headway.web import navigation

navigation.run()
