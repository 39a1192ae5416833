"""SkillBanks: the model, edits, retrieval, exports."""
