-- The only currency a coupon discounts; NULL: any. Amounts from before this column are in KRW.
ALTER TABLE coupon ADD COLUMN currency TEXT;
