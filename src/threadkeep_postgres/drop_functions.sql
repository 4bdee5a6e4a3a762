-- Functions are made anew as a whole; only the one that policies are made of stays.
DO $$
DECLARE old regprocedure;
BEGIN
    FOR old IN
        SELECT p.oid FROM pg_proc p
        WHERE p.pronamespace = 'threadkeep'::regnamespace AND p.proname <> 'present_tenant'
    LOOP
        EXECUTE 'DROP FUNCTION ' || old;
    END LOOP;
END $$;
